import AgentModel
import Synchronization

/// Watches over the open connections from the network, all of them in one task: one of its own for each would cost more
/// memory than all that it looks at.
final class ConnectionReaper: Sendable {
    private struct Watched {
        let session: RemoteSession
        let end: @Sendable (AppServer.Reason) -> Void
    }

    private struct State {
        var watched: [Admission.Ticket: Watched] = [:]
        /// Runs while there is something to watch.
        var task: Task<Void, Never>?
    }

    private let clock: ServerClock
    /// No limit of a connection is shorter: whatever begins while the reaper sleeps, is not over before it wakes.
    private let longestSleep: Duration
    private let state = Mutex(State())

    init(_ limits: AppServer.LANLimits, clock: ServerClock) {
        self.clock = clock
        longestSleep = min(limits.idleTime, limits.writeTime)
    }

    /// - Parameter end: is called once, when a limit has been exceeded.
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

    /// Ends what is overdue.
    /// - Returns: how long to sleep, or nil where nothing is left to watch.
    private func look() -> Duration? {
        let now = clock.now
        let (overdue, sleep) = state.withLock { state -> ([(Watched, AppServer.Reason)], Duration?) in
            var overdue: [(Watched, AppServer.Reason)] = []
            var sleep = longestSleep
            for (ticket, watched) in state.watched {
                switch watched.session.standing(at: now) {
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
