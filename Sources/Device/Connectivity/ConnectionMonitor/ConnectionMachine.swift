import AgentModel

/// Decides when to connect. The caller supplies the time, random numbers and connections. Events about earlier attempts
/// are ignored.
struct ConnectionMachine {
    enum Event: Equatable {
        /// A network is available: the first one, or a different one.
        case network
        case noNetwork
        /// A caller needs a result within this time.
        case hurry(limit: Duration)
        /// The time set by `wake` may have passed.
        case timer
        /// TCP is connected; the program has not answered yet.
        case connected(attempt: Int)
        /// - Parameter isFar: whether the remote address is global.
        case opened(attempt: Int, isFar: Bool = false)
        /// - Parameter problem: nil if the other side closed the connection regularly.
        case ended(attempt: Int, ReachProblem?)
        /// Closes the connection, and opens another one after a pause.
        case cancel
        /// Closes the connection for good.
        case stop

        var attempt: Int? {
            switch self {
            case .connected(let attempt), .opened(let attempt, _), .ended(let attempt, _): attempt
            case .network, .noNetwork, .hurry, .timer, .cancel, .stop: nil
            }
        }
    }

    enum Effect: Equatable {
        /// - Parameter limit: time for name and connection only.
        case open(attempt: Int, limit: Duration)
        /// Cancel the attempt or its connection.
        case drop(attempt: Int)
        /// Set the wake-up time, which replaces any earlier one.
        case wake(at: Instant)
        case report(ConnectionStatus)
        case doubt(ReachProblem)
    }

    enum Phase: Equatable {
        case idle
        case opening(attempt: Int, since: Instant, isConnected: Bool = false)
        case pausing(until: Instant)
        case open(attempt: Int, since: Instant)
        case stopped

        var attempt: Int? {
            switch self {
            case .opening(let attempt, _, _), .open(let attempt, _): attempt
            case .idle, .pausing, .stopped: nil
            }
        }
    }

    private(set) var phase = Phase.idle
    private(set) var status: ConnectionStatus
    private let settings: Reconnection
    private var lastAttempt = 0
    /// Consecutive failures, including short-lived connections.
    private var failures = 0

    init(settings: Reconnection, now: Instant) {
        self.settings = settings
        status = ConnectionStatus(state: .setup, since: now)
    }

    mutating func handle(
        _ event: Event, at now: Instant, using generator: inout some RandomNumberGenerator
    ) -> [Effect] {
        if let attempt = event.attempt, attempt != phase.attempt { return [] }
        switch (event, phase) {
        case (_, .stopped):
            return []
        case (.network, _):
            failures = 0
            return dropping() + enter(.preparing, at: now) + open(within: settings.limit, at: now)
        case (.noNetwork, _):
            defer { phase = .idle }
            return dropping() + enter(.waiting, because: .noAddress, at: now)
        case (.stop, _):
            defer { phase = .stopped }
            return dropping() + enter(.cancelled, at: now)
        case (.cancel, .idle):
            return enter(.cancelled, at: now)
        case (.cancel, let before):
            if case .open(_, let start) = before, isSettled(start, at: now) { failures = 0 }
            return dropping() + enter(.cancelled, at: now)
                + pause(upTo: settings.waits.last, at: now, using: &generator)

        case (.timer, .pausing(let end)):
            return now < end ? [.wake(at: end)] : open(within: settings.limit, at: now)
        case (.hurry(let limit), .pausing):
            return open(within: min(limit, settings.limit), at: now)
        // Keeps an attempt that has connected, because a new one would take longer.
        case (.hurry(let limit), .opening(_, let start, isConnected: false)) where now - start >= limit:
            return dropping() + open(within: min(limit, settings.limit), at: now)

        case (.connected, .opening(let attempt, let start, _)):
            phase = .opening(attempt: attempt, since: start, isConnected: true)
            return []
        case (.opened(_, let isFar), .opening(let attempt, _, _)):
            phase = .open(attempt: attempt, since: now)
            return enter(.ready, isFar: isFar, at: now)
        case (.ended(_, let problem), .opening):
            return lose(because: problem ?? .connectionReset, at: now)
                + pause(upTo: settings.waits.last, at: now, using: &generator)
        case (.ended(_, let problem?), .open(_, let start)):
            if isSettled(start, at: now) { failures = 0 }
            return lose(because: problem, at: now) + pause(upTo: settings.waits.last, at: now, using: &generator)
        case (.ended(_, nil), .open(_, let start)):
            // Servers close idle connections. The state stays `ready` while they accept new ones.
            guard isSettled(start, at: now) else {
                return pause(upTo: settings.lastWhileReady, at: now, using: &generator)
            }
            failures = 0
            return open(within: settings.limit, at: now)
        default:
            return []
        }
    }

    private func isSettled(_ start: Instant, at now: Instant) -> Bool { now - start >= settings.settled }

    private mutating func open(within limit: Duration, at now: Instant) -> [Effect] {
        lastAttempt += 1
        phase = .opening(attempt: lastAttempt, since: now)
        let reports = status.state == .cancelled ? enter(.preparing, at: now) : []
        return reports + [.open(attempt: lastAttempt, limit: limit)]
    }

    private func dropping() -> [Effect] {
        phase.attempt.map { [.drop(attempt: $0)] } ?? []
    }

    /// Records a failed attempt or a lost connection.
    private mutating func lose(because problem: ReachProblem, at now: Instant) -> [Effect] {
        switch status.state {
        case .ready: enter(.failed, because: problem, at: now) + [.doubt(problem)]
        case .failed: enter(.failed, because: problem, at: now)
        default: enter(.waiting, because: problem, at: now)
        }
    }

    private mutating func enter(
        _ state: ConnectionState, because reason: ReachProblem? = nil, isFar: Bool = false, at now: Instant
    ) -> [Effect] {
        let since = state == status.state ? status.since : now
        let new = ConnectionStatus(state: state, reason: reason, isFar: isFar, since: since)
        guard new != status else { return [] }
        status = new
        return [.report(status)]
    }

    private mutating func pause(
        upTo longest: Duration, at now: Instant, using generator: inout some RandomNumberGenerator
    ) -> [Effect] {
        let waits = BackOff(first: settings.waits.first, last: longest)
        let end = now + waits.wait(after: failures, atLeast: 0, using: &generator)
        failures += 1
        phase = .pausing(until: end)
        return [.wake(at: end)]
    }
}
