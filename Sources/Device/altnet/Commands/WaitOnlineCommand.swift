import AppClient
import AppProtocol
import ArgumentParser

struct WaitOnlineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait-online", abstract: "Wait until the device is online.",
        discussion: """
            Ends as soon as the device has a network that reaches what its settings require, or another uplink such as \
            a cable. Waits for the agent too, if it does not run yet. altnet-wait-online.service does this for the \
            services that start after network-online.target.

            EXIT STATUS
              0   online
              1   not online in time
              76  the device speaks another protocol
              77  no permission for the socket, or the device refuses the key; does not wait
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Maximum time in seconds (default: 60).", valueName: "seconds"))
    var within = 60

    func validate() throws {
        guard (1...86400).contains(within) else { throw ValidationError("--within must be 1 to 86400 seconds") }
    }

    func run() async throws {
        let console = Console.current
        do {
            try connection.device.warn(console)
            let endpoint = try connection.endpoint(console)
            let wait = OnlineWait(clock: ContinuousClock()) { [limit = connection.answerWithin] in
                try await DeviceClient(connectingTo: endpoint, timeout: .seconds(limit))
            }
            guard let status = try await wait.run(within: .seconds(within)) else {
                throw CommandFailure(.failed, "not online within \(within) s: 'altnet diagnose' finds out why")
            }
            if connection.json { console.print(json: status) }
        } catch let error as ClientError {
            try console.report(CommandFailure(error), json: connection.json)
        } catch let failure as CommandFailure {
            try console.report(failure, json: connection.json)
        }
    }
}

/// Waits until a device is online, over broken connections.
struct OnlineWait {
    /// Pause before the next connection.
    static let pause = Duration.milliseconds(500)

    let clock: any Clock<Duration>
    let connect: @Sendable () async throws -> DeviceClient

    /// - Returns: nil if the device is not online in time.
    /// - Throws: `ClientError` if the device refuses this client, because it would refuse the next attempt too.
    func run(within limit: Duration) async throws -> NetworkStatus? {
        try await withThrowingTaskGroup(of: NetworkStatus?.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    do {
                        if let status = try await follow() { return status }
                    } catch let error as ClientError
                        where [.notPermitted, .protocolMismatch].contains(ExitStatus(error))
                    {
                        throw error
                    } catch {}
                    try? await clock.sleep(for: Self.pause)
                }
                return nil
            }
            group.addTask {
                try? await clock.sleep(for: limit)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// - Returns: nil at the end of the connection.
    private func follow() async throws -> NetworkStatus? {
        let device = try await connect()
        defer { Task { await device.close() } }
        // Subscribe first, so that no change is missed.
        let events = try await device.events()
        let status = try await device.network()
        guard !status.isCheckedOnline else { return status }
        for try await _ in events {
            let status = try await device.network()
            if status.isCheckedOnline { return status }
        }
        return nil
    }
}

extension NetworkStatus {
    /// Whether the device is online at the required level, and has checked that.
    var isCheckedOnline: Bool {
        isConnected && (connectivity.map { $0.required == .link || $0.checked != nil } ?? true)
    }
}
