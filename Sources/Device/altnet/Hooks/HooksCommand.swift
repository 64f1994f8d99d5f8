import AppClient
import AppProtocol
import ArgumentParser
import Glibc
import Hotspots
import Linux
import Terminal

struct HooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hooks",
        abstract: "Run the board's own programs when the connection changes.",
        discussion: """
            Follows the agent and runs each executable file of the directory, in the order of their names, with the \
            change as its argument and in $ALTNET_CHANGE:

              online   the device reaches what its settings require, and has checked that
              offline  it does not reach that, or no longer does
              network  another Wi-Fi network, or traffic over another uplink
              address  other addresses
              portal   a captive portal holds the device up, or no longer does

            At its start, it reports the state as changes. One hook runs at a time. A hook that does not end within \
            the time limit is killed with its child processes. Its output goes to standard error. The directory and \
            the files must belong to root and be writable by root only; links are refused. See \
            Docs/integrator/hooks.md. altnet-hooks.service runs this with the agent.

            ENVIRONMENT
              ALTNET_CHANGE     the change, as the argument
              ALTNET_ONLINE     yes or no
              ALTNET_STATE      state of the Wi-Fi link, such as joining or online
              ALTNET_UPLINK     what carries the traffic, such as wifi; empty for none
              ALTNET_SSID       name of the network, as 'altnet status' prints it
              ALTNET_SSID_HEX   its bytes in hexadecimal
              ALTNET_BSSID      address of the access point
              ALTNET_ADDRESSES  addresses of the interface, separated by spaces
              ALTNET_INTERNET   yes, no, captive or unknown
              ALTNET_METERED    yes or no: whether traffic is limited or paid by volume

            EXIT STATUS
              1   the hooks would run as root, or there is no such user
            """)

    @OptionGroup var device: DeviceOptions

    @Option(help: ArgumentHelp("The directory with the hooks.", valueName: "path"))
    var directory = "/etc/altnet/hooks.d"

    @Option(help: ArgumentHelp("The user that runs the hooks; required for root, and not root.", valueName: "name"))
    var user: String?

    @Option(help: ArgumentHelp("The time limit of one hook, 1 to 600 (default: 30).", valueName: "seconds"))
    var within = 30

    /// Name of the hook that this process becomes. The runner sets this option.
    @Option(help: .hidden)
    var hook: String?

    func validate() throws {
        guard (1...600).contains(within) else { throw ValidationError("--within must be 1 to 600 seconds") }
    }

    func run() async throws {
        let log: @Sendable (String) -> Void = { try? TextOutput(descriptor: 2).put("altnet: \($0)\n") }
        let hooks = ProviderDirectory(path: directory, allowsLinks: false)
        do {
            let user = try user.map { try SystemUser(name: $0) }
            if let hook {
                try user?.become()
                throw become(hook, of: hooks)
            }
            try SystemUser.requireUnprivileged(user)
            let endpoint = try device.endpoint(Console.current)
            let signals = try ProcessSignals([SIGCHLD])
            let runner = await HookRunner(hooks, user: user, limit: .seconds(within), log: log)
            signals.deliver { _ in AgentLoop.begin { runner.childEnded() } }
            await HookSource(
                clock: ContinuousClock(),
                connect: { [limit = device.answerWithin ?? 10] in
                    try await DeviceClient(connectingTo: endpoint, timeout: .seconds(limit))
                }
            ).follow { call in await runner.changed(call) }
        } catch let failure as CommandFailure {
            try Console.current.report(failure, json: false)
        } catch let error as ValidationError {
            throw error
        } catch {
            log("\(error)")
            throw ExitCode(1)
        }
    }

    /// Replaces this process by the hook. Returns only on failure.
    private func become(_ name: String, of hooks: ProviderDirectory) -> any Error {
        guard let program = hooks.program(name), let change = getenv("ALTNET_CHANGE") else {
            return ProtocolError(.unsupported, "no hook has this name, or its user may not run it")
        }
        return ChildProcess.become(
            program, [String(cString: change)], environment: ChildProcess.ownEnvironment, limits: HookRunner.limits)
    }
}

/// Follows a device over broken connections, and reports the changes of its connection.
struct HookSource {
    /// Pause before the next connection.
    static let pause = Duration.seconds(1)

    let clock: any Clock<Duration>
    let connect: @Sendable () async throws -> DeviceClient

    /// Runs until the task is cancelled.
    func follow(_ report: (HookCall) async -> Void) async {
        var last: NetworkStatus?
        while !Task.isCancelled {
            try? await follow(&last, report)
            try? await clock.sleep(for: Self.pause)
        }
    }

    /// Returns at the end of the connection.
    private func follow(_ last: inout NetworkStatus?, _ report: (HookCall) async -> Void) async throws {
        let device = try await connect()
        defer { Task { await device.close() } }
        // Subscribe first, so that no change is missed.
        let events = try await device.events()
        await publish(try await device.network(), &last, report)
        for try await event in events {
            switch event.body {
            case .networkChanged(let status): await publish(status, &last, report)
            case .gap: await publish(try await device.network(), &last, report)
            default: break
            }
        }
    }

    private func publish(
        _ status: NetworkStatus, _ last: inout NetworkStatus?, _ report: (HookCall) async -> Void
    ) async {
        let changes = HookChange.changes(from: last, to: status)
        last = status
        for change in changes { await report(HookCall(change, status)) }
    }
}
