import AgentModel
import Synchronization

/// Limits of one open network connection: request rate, idle time and write time.
final class RemoteSession: Sendable {
    private struct State {
        var requests: TokenBucket
        var lastRequest: Instant
        var isSubscribed = false
        var writes = 0
        /// Start of the first pending write, or end of the last completed one.
        var lastProgress: Instant
    }

    private let site: IPAddress.Site
    private let rates: SiteRates
    private let limits: AppServer.LANLimits
    private let clock: ServerClock
    private let state: Mutex<State>

    init(from site: IPAddress.Site, rates: SiteRates, limits: AppServer.LANLimits, clock: ServerClock) {
        self.site = site
        self.rates = rates
        self.limits = limits
        self.clock = clock
        let now = clock.now
        state = Mutex(
            State(requests: TokenBucket(limits.requests), lastRequest: now, lastProgress: now))
    }

    /// - Returns: nil if the request is within the limits, otherwise the time until the next request is allowed.
    func consumeRequest() -> Duration? {
        let now = clock.now
        return state.withLock { state in
            state.lastRequest = now
            return rates.consume(site, and: &state.requests, at: now)
        }
    }

    /// Disables the session's idle limit.
    func subscribe() { state.withLock { $0.isSubscribed = true } }

    func writeBegan() {
        let now = clock.now
        state.withLock { state in
            if state.writes == 0 { state.lastProgress = now }
            state.writes += 1
        }
    }

    func writeEnded() {
        let now = clock.now
        state.withLock { state in
            state.writes -= 1
            state.lastProgress = now
        }
    }

    enum TimeoutCheck {
        /// Time left before the next limit.
        case within(Duration)
        case overdue(AppServer.Reason)
    }

    func checkTimeouts(at now: Instant) -> TimeoutCheck {
        let (idle, writing) = state.withLock { state in
            (
                state.isSubscribed ? nil : state.lastRequest + limits.idleTime - now,
                state.writes == 0 ? nil : state.lastProgress + limits.writeTime - now
            )
        }
        if let writing, writing <= .zero { return .overdue(.notReading) }
        if let idle, idle <= .zero { return .overdue(.idle) }
        return .within(min(idle ?? limits.idleTime, writing ?? limits.writeTime))
    }
}

/// Closes overdue network connections from a single task, because a task for each would need more memory.
final class ConnectionReaper: Sendable {
    private struct Watched {
        let session: RemoteSession
        let end: @Sendable (AppServer.Reason) -> Void
    }

    private struct State {
        var watched: [Admission.Ticket: Watched] = [:]
        var task: Task<Void, Never>?
    }

    private let clock: ServerClock
    /// The shorter of the two limits, so that no new connection becomes overdue during a sleep.
    private let longestSleep: Duration
    private let state = Mutex(State())

    init(_ limits: AppServer.LANLimits, clock: ServerClock) {
        self.clock = clock
        longestSleep = min(limits.idleTime, limits.writeTime)
    }

    /// - Parameter end: called once when a limit is exceeded.
    func watch(
        _ ticket: Admission.Ticket, _ session: RemoteSession, end: @escaping @Sendable (AppServer.Reason) -> Void
    ) {
        state.withLock { state in
            state.watched[ticket] = Watched(session: session, end: end)
            if state.task == nil { state.task = Task { await self.run() } }
        }
    }

    func forget(_ ticket: Admission.Ticket) { state.withLock { _ = $0.watched.removeValue(forKey: ticket) } }

    func stop() {
        state.withLock { state in
            state.watched = [:]
            state.task?.cancel()
            state.task = nil
        }
    }

    private func run() async {
        while !Task.isCancelled, let sleep = look() { try? await clock.sleep(for: sleep) }
    }

    /// - Returns: time to sleep; nil if no connection is left.
    private func look() -> Duration? {
        let now = clock.now
        let (overdue, sleep) = state.withLock { state -> ([(Watched, AppServer.Reason)], Duration?) in
            var overdue: [(Watched, AppServer.Reason)] = []
            var sleep = longestSleep
            for (ticket, watched) in state.watched {
                switch watched.session.checkTimeouts(at: now) {
                case .overdue(let reason):
                    overdue.append((watched, reason))
                    state.watched[ticket] = nil
                case .within(let rest): sleep = min(sleep, rest)
                }
            }
            guard state.watched.isEmpty else { return (overdue, sleep) }
            state.task = nil
            return (overdue, nil)
        }
        for (watched, reason) in overdue { watched.end(reason) }
        return sleep
    }
}
