import AgentModel

/// When to connect, and how it stands: no clock, no socket, no randomness of its own.
///
/// Attempts have numbers; what concerns another than the current one came too late and changes nothing.
struct ConnectionMachine {
    enum Input: Equatable {
        /// There is a network: the first one, or another one than before.
        case network
        case noNetwork
        /// A caller has to know now, within this time.
        case hurry(limit: Duration)
        /// The awaited moment may have come.
        case timer
        /// The other side's kernel has answered, and now its program has to.
        case connected(attempt: Int)
        /// - Parameter isFar: whether the address that answered is one of the internet.
        case opened(attempt: Int, isFar: Bool = false)
        /// - Parameter problem: nil where the other side ended it in order.
        case ended(attempt: Int, ReachProblem?)
        case cancel

        /// The attempt that it concerns, if it concerns one.
        var attempt: Int? {
            switch self {
            case .connected(let attempt), .opened(let attempt, _), .ended(let attempt, _): attempt
            case .network, .noNetwork, .hurry, .timer, .cancel: nil
            }
        }
    }

    enum Action: Equatable {
        /// - Parameter limit: for name and connection; keys and the first answer may take as long as ever.
        case open(attempt: Int, limit: Duration)
        /// Give up the attempt, or the connection that it led to.
        case drop(attempt: Int)
        /// Instead of any earlier wish.
        case wake(at: Instant)
        case tell(ConnectionStatus)
        case doubt(ReachProblem)
    }

    enum Phase: Equatable {
        /// No network.
        case idle
        case opening(attempt: Int, since: Instant, isConnected: Bool = false)
        case pausing(until: Instant)
        case open(attempt: Int, since: Instant)
        case cancelled

        var attempt: Int? {
            switch self {
            case .opening(let attempt, _, _), .open(let attempt, _): attempt
            case .idle, .pausing, .cancelled: nil
            }
        }
    }

    private(set) var phase = Phase.idle
    private(set) var status: ConnectionStatus
    private let settings: Reconnection
    private var lastAttempt = 0
    /// In a row; what counts is what did not last.
    private var failures = 0

    init(settings: Reconnection, now: Instant) {
        self.settings = settings
        status = ConnectionStatus(state: .setup, since: now)
    }

    mutating func handle(
        _ input: Input, at now: Instant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        if let attempt = input.attempt, attempt != phase.attempt { return [] }
        switch (input, phase) {
        case (_, .cancelled):
            return []
        case (.network, _):
            failures = 0
            return dropping() + enter(.preparing, at: now) + open(within: settings.limit, at: now)
        case (.noNetwork, _):
            defer { phase = .idle }
            return dropping() + enter(.waiting, because: .noAddress, at: now)
        case (.cancel, _):
            defer { phase = .cancelled }
            return dropping() + enter(.cancelled, at: now)

        case (.timer, .pausing(let end)):
            return now < end ? [.wake(at: end)] : open(within: settings.limit, at: now)
        case (.hurry(let limit), .pausing):
            return open(within: min(limit, settings.limit), at: now)
        // A connected attempt has got further than another one would in that time.
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
            // Servers end idle connections. Nothing is lost as long as they let the device in again.
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

    private mutating func open(within limit: Duration, at now: Instant) -> [Action] {
        lastAttempt += 1
        phase = .opening(attempt: lastAttempt, since: now)
        return [.open(attempt: lastAttempt, limit: limit)]
    }

    private func dropping() -> [Action] {
        phase.attempt.map { [.drop(attempt: $0)] } ?? []
    }

    /// There is no way there any more, or still none.
    private mutating func lose(because problem: ReachProblem, at now: Instant) -> [Action] {
        switch status.state {
        case .ready: enter(.failed, because: problem, at: now) + [.doubt(problem)]
        case .failed: enter(.failed, because: problem, at: now)
        default: enter(.waiting, because: problem, at: now)
        }
    }

    private mutating func enter(
        _ state: ConnectionState, because reason: ReachProblem? = nil, isFar: Bool = false, at now: Instant
    ) -> [Action] {
        let since = state == status.state ? status.since : now
        let new = ConnectionStatus(state: state, reason: reason, isFar: isFar, since: since)
        guard new != status else { return [] }
        status = new
        return [.tell(status)]
    }

    private mutating func pause(
        upTo longest: Duration, at now: Instant, using generator: inout some RandomNumberGenerator
    ) -> [Action] {
        let waits = BackOff(first: settings.waits.first, last: longest)
        let end = now + waits.wait(after: failures, atLeast: 0, using: &generator)
        failures += 1
        phase = .pausing(until: end)
        return [.wake(at: end)]
    }
}
