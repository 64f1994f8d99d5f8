import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import Linux
import Synchronization

/// The live screen of `altnet watch`. Redraws four times a second until the user quits.
struct LiveWatch {
    private static let interval = Duration.milliseconds(250)

    let terminal: TerminalSession
    let console: Console
    let follower: WatchFollower

    /// - Throws: `ExitCode` after a signal.
    func run(_ device: DeviceClient) async throws {
        let signal = try await terminal.run { inputs in
            try await withThrowingTaskGroup(of: Int32?.self) { group in
                group.addTask {
                    await follower.run(device)
                    return nil
                }
                group.addTask { await show(inputs) }
                defer { group.cancelAll() }
                return try await group.next() ?? nil
            }
        }
        if let signal { throw ExitCode(128 + signal) }
    }

    /// - Returns: the signal that ended the screen; nil if the user quit.
    private func show(_ inputs: AsyncStream<TerminalSession.Input>) async -> Int32? {
        let screen = Screen(terminal: terminal, console: console, follower: follower)
        let ticking = Task {
            while !Task.isCancelled {
                await screen.draw()
                try? await console.clock.sleep(for: Self.interval)
            }
        }
        defer { ticking.cancel() }
        for await input in inputs {
            switch input {
            case .key(UInt8(ascii: "q")), .key(UInt8(ascii: "Q")): return nil
            case .key: break
            case .resized: await screen.draw()
            case .suspend: await screen.suspend()
            case .end(let signal): return signal
            }
        }
        return nil
    }
}

private actor Screen {
    private let terminal: TerminalSession
    private let console: Console
    private let follower: WatchFollower
    private var painter = FramePainter()

    init(terminal: TerminalSession, console: Console, follower: WatchFollower) {
        self.terminal = terminal
        self.console = console
        self.follower = follower
    }

    func draw() {
        let size = terminal.size
        let screen = WatchScreen(
            state: follower.state, now: .now, time: console.now(), size: size, style: console.style)
        terminal.write(painter.paint(screen.lines(), size: size))
    }

    func suspend() {
        terminal.suspend()
        painter.forget()
        draw()
    }
}

/// Keeps a `WatchState` up to date and reconnects when the connection ends.
final class WatchFollower: Sendable {
    /// Time between two requests for the signal. Without requests, the device measures a good link only every 10 s.
    private static let signalInterval = Duration.seconds(1)
    /// Number of requests for the signal per request for scan results.
    private static let scanInterval = 5
    /// Maximum number of events from before the connection.
    private static let maximumEarlier = 4096
    private static let pauses = BackOff(first: .milliseconds(250), last: .seconds(5))

    private let connect: @Sendable () async throws -> DeviceClient
    private let clock: any Clock<Duration>
    private let time: @Sendable () -> Timestamp
    private let onChange: @Sendable (WatchState) -> Void
    private let known = Mutex(WatchState())
    /// Last event received, to resume after a reconnection. The first connection starts with the events that the device
    /// still keeps.
    private let heard = Mutex(EventSubscription(since: 0))

    /// - Parameters:
    ///   - clock: clock for the pauses between attempts and between requests.
    ///   - time: current time, to compute the age of events.
    ///   - onChange: called with each new state, in order; must not block.
    init(
        clock: any Clock<Duration>, time: @escaping @Sendable () -> Timestamp = { .now },
        onChange: @escaping @Sendable (WatchState) -> Void = { _ in },
        connect: @escaping @Sendable () async throws -> DeviceClient
    ) {
        (self.clock, self.time, self.onChange, self.connect) = (clock, time, onChange, connect)
    }

    var state: WatchState { known.withLock { $0 } }

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
            try? await clock.sleep(for: Self.pauses.wait(after: attempts))
            attempts += 1
        }
    }

    /// - Parameter onReady: called once the device has answered.
    /// - Throws: an error when the connection ends.
    private func follow(_ device: DeviceClient, _ onReady: () -> Void) async throws {
        let events = try await device.events(heard.withLock { $0 })
        let subscribed = events.subscribed
        let history = try await device.history()
        change { $0.update(history) }
        try await readEarlier(events)
        try await read(device)
        onReady()
        heard.withLock {
            if $0.stream != subscribed.stream {
                $0 = EventSubscription(since: subscribed.seq, stream: subscribed.stream)
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await event in events {
                    self.handle(event, of: subscribed)
                    if case .gap = event.body { try await self.read(device) }
                }
                throw ClientError.disconnected
            }
            group.addTask {
                var turn = 0
                while true {
                    try await self.clock.sleep(for: Self.signalInterval)
                    turn += 1
                    try await self.measure(device, withScan: turn.isMultiple(of: Self.scanInterval))
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Reads the events from before the connection.
    private func readEarlier(_ events: EventStream) async throws {
        let subscribed = events.subscribed
        let heard = heard.withLock { $0 }
        let isRestarted = heard.stream != nil && heard.stream != subscribed.stream
        guard isRestarted || subscribed.seq > heard.since ?? 0 else { return }
        var earlier: [Event] = []
        for try await event in events {
            earlier.append(event)
            if event.seq >= subscribed.seq || earlier.count == Self.maximumEarlier { break }
        }
        guard let newest = earlier.last?.time else { return }
        // A device with another time of day has its newest event now.
        let lag = age(newest)
        let offset = lag >= .zero && lag < WatchState.horizon ? .zero : lag
        for event in earlier { handle(event, age: age(event.time) - offset, of: subscribed) }
    }

    private func age(_ time: Timestamp) -> Duration {
        .milliseconds(self.time().millisecondsSince1970 - time.millisecondsSince1970)
    }

    private func handle(_ event: Event, age: Duration = .zero, of subscribed: Subscribed) {
        let isFirst = heard.withLock { heard in
            defer { heard = EventSubscription(since: event.seq, stream: subscribed.stream) }
            return heard.stream == nil
        }
        // The device does not keep all events since its start.
        if case .gap = event.body, isFirst { return }
        change { $0.handle(event, age: max(.zero, age), at: .now) }
    }

    private func read(_ device: DeviceClient) async throws {
        let capabilities = try await device.capabilities()
        let list = try await device.backups()
        change { state in
            state.connected(to: capabilities)
            state.update(list)
        }
        try await measure(device, withScan: true)
    }

    private func measure(_ device: DeviceClient, withScan: Bool) async throws {
        let status = try await device.network()
        change { $0.update(status, age: max(.zero, age(status.since)), at: .now) }
        guard withScan else { return }
        do throws(ClientError) {
            let results = try await device.scanResults()
            change { $0.update(results, at: .now) }
        } catch {
            // Keep the connection: the device refuses if its radio is missing, and the screen shows that.
            guard case .refused = error else { throw error }
        }
    }

    private func change(_ change: (inout WatchState) -> Void) {
        known.withLock { state in
            change(&state)
            onChange(state)
        }
    }
}
