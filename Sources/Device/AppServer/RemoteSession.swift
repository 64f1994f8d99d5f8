import AgentModel
import Synchronization

/// Keeps the limits of one connection from the network once it is open: how often it asks, how long it is silent, how long
/// it does not read.
final class RemoteSession: Sendable {
    private struct State {
        var requests: TokenBucket
        var lastRequest: Instant
        var isSubscribed = false
        var writes = 0
        /// When the last write under way began, or when one of them ended.
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

    /// - Returns: nil if the request may be answered, else when the next one is welcome.
    func takeRequest() -> Duration? {
        let now = clock.now
        return state.withLock { state in
            state.lastRequest = now
            return rates.take(site, and: &state.requests, at: now)
        }
    }

    /// Silence is expected from now on.
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

    enum Standing {
        /// For how long it may go on as it does.
        case within(Duration)
        case overdue(AppServer.Reason)
    }

    func standing(at now: Instant) -> Standing {
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
