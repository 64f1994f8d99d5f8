import AgentModel
import AppClient
import AppProtocol
import Linux
import Synchronization

/// Keeps a `WatchState` up to date, over as many connections as it takes.
final class WatchFollower: Sendable {
    /// How often the signal is asked for, and the networks in range: the device measures a calm link every five minutes
    /// only.
    private static let signalInterval = Duration.seconds(1)
    private static let scanInterval = 5
    private static let pauses = BackOff(first: .milliseconds(250), last: .seconds(5))

    private let connect: @Sendable () async throws -> DeviceClient
    private let known = Mutex(WatchState())
    /// The last event that was heard of, so that what happens without a connection is not missed.
    private let heard = Mutex(EventSubscription())

    init(connect: @escaping @Sendable () async throws -> DeviceClient) { self.connect = connect }

    var state: WatchState { known.withLock { $0 } }

    /// Returns once the task is cancelled.
    func run(_ first: DeviceClient) async {
        var device: DeviceClient? = first
        var attempts = 0
        while !Task.isCancelled {
            do {
                let client: DeviceClient
                if let first = device { client = first } else { client = try await connect() }
                device = nil
                defer { Task { await client.close() } }
                try await follow(client) { attempts = 0 }
            } catch {
                change { $0.lost("\(error)", at: .now) }
            }
            try? await Task.sleep(for: Self.pauses.wait(after: attempts))
            attempts += 1
        }
    }

    /// - Parameter onReady: is called once the device has answered.
    /// - Throws: when the connection ends.
    private func follow(_ device: DeviceClient, _ onReady: () -> Void) async throws {
        let events = try await device.events(heard.withLock { $0 })
        try await read(device)
        onReady()
        let subscribed = events.subscribed
        heard.withLock {
            if $0.stream != subscribed.stream {
                $0 = EventSubscription(since: subscribed.seq, stream: subscribed.stream)
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await event in events {
                    self.heard.withLock { $0 = EventSubscription(since: event.seq, stream: subscribed.stream) }
                    // What happened before this moment is no measurement of now.
                    self.change { $0.take(event, isLate: event.seq <= subscribed.seq, at: .now) }
                    if case .gap = event.body { try await self.read(device) }
                }
                throw ClientError.disconnected
            }
            group.addTask {
                var turn = 0
                while true {
                    try await Task.sleep(for: Self.signalInterval)
                    turn += 1
                    try await self.measure(device, withScan: turn.isMultiple(of: Self.scanInterval))
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func read(_ device: DeviceClient) async throws {
        let capabilities = try await device.capabilities()
        let list = try await device.backups()
        let history = try await device.history()
        change { state in
            state.connected(to: capabilities)
            state.update(list)
            state.update(history)
        }
        try await measure(device, withScan: true)
    }

    private func measure(_ device: DeviceClient, withScan: Bool) async throws {
        let status = try await device.network()
        change { $0.update(status, at: .now) }
        guard withScan else { return }
        do throws(ClientError) {
            let results = try await device.scanResults()
            change { $0.update(results, at: .now) }
        } catch {
            // A radio that is gone is a state to be watched, and no end of it.
            guard case .refused = error else { throw error }
        }
    }

    private func change(_ change: (inout WatchState) -> Void) { known.withLock { change(&$0) } }
}
