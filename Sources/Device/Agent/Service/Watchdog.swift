import Linux
import Logging
import NIOCore

/// Gives the service manager signs of life for as long as the agent is alive in every part.
///
/// Each sign is the end of a round: every queue that the agent cannot do without is visited, and has to let the visitor
/// pass. One that is stuck keeps the round, and so all further signs, from happening.
///
/// It waits by a clock of its own and not by the agent's loop, about which it complains while that is stuck.
struct Watchdog: Sendable {
    /// A queue that has to move.
    struct Station: Sendable {
        /// Its name for users.
        let name: String
        /// Returns when the queue has let it pass.
        let visit: @Sendable () async -> Void
    }

    let stations: [Station]
    /// Between two signs.
    let interval: Duration
    var clock: any Clock<Duration> = ContinuousClock()
    let log: Logger

    /// Gives signs until the task is cancelled.
    func run(giveSign: @Sendable () -> Void) async {
        while !Task.isCancelled {
            for station in stations {
                let complaint = Task {
                    guard (try? await clock.sleep(for: interval)) != nil else { return }
                    log.critical("\(station.name) has not answered for \(interval): no sign of life is given")
                }
                await station.visit()
                complaint.cancel()
            }
            guard !Task.isCancelled else { return }
            giveSign()
            try? await clock.sleep(for: interval)
        }
    }

    /// How often the manager wants a sign: twice in the time after which it takes the service for dead
    /// (sd_watchdog_enabled(3)).
    /// - Returns: nil where it wants none, or one of another process.
    static func interval(limit: String?, process: String?, ownProcess: Int32) -> Duration? {
        guard let limit = limit.flatMap({ Int64($0) }), limit > 0 else { return nil }
        guard process.map({ Int32($0) == ownProcess }) ?? true else { return nil }
        return .microseconds(max(1, limit / 2))
    }
}

extension Watchdog.Station {
    /// The loop that decides everything.
    static let agentLoop = Self(name: "the agent's loop") { await visitAgentLoop() }

    static func eventLoops(of group: any EventLoopGroup, name: String) -> Self {
        Self(name: name) {
            for loop in group.makeIterator() { try? await loop.submit {}.get() }
        }
    }
}

/// Not a closure, which would not have to hop. It asks where it is, for the optimiser leaves out the way to where
/// nothing is done.
@AgentLoop private func visitAgentLoop() { AgentLoop.shared.preconditionIsolated() }
