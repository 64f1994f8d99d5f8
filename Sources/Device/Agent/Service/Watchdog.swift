import Linux
import Logging
import NIOCore

/// Notifies the service manager while every part of the agent makes progress.
///
/// Before each notification, the watchdog waits until each required queue has run a job. A stuck queue prevents all
/// further notifications. The watchdog's clock does not depend on the agent's loop, because that loop may be stuck.
struct Watchdog: Sendable {
    /// A queue that must make progress.
    struct Check: Sendable {
        let name: String
        /// Returns when the queue has run a job.
        let visit: @Sendable () async -> Void
    }

    let stations: [Check]
    /// Time between two notifications.
    let interval: Duration
    var clock: any Clock<Duration> = ContinuousClock()
    let log: Logger

    func run(giveSign: @Sendable () -> Void) async {
        while !Task.isCancelled {
            for station in stations {
                let complaint = Task {
                    guard (try? await clock.sleep(for: interval)) != nil else { return }
                    log.critical("\(station.name) has not answered for \(interval): not notifying the watchdog")
                }
                await station.visit()
                complaint.cancel()
            }
            guard !Task.isCancelled else { return }
            giveSign()
            try? await clock.sleep(for: interval)
        }
    }

    /// Returns half the time after which the manager considers the service dead (sd_watchdog_enabled(3)); nil if the
    /// manager does not expect this process to notify it.
    static func interval(limit: String?, process: String?, ownProcess: Int32) -> Duration? {
        guard let limit = limit.flatMap({ Int64($0) }), limit > 0 else { return nil }
        guard process.map({ Int32($0) == ownProcess }) ?? true else { return nil }
        return .microseconds(max(1, limit / 2))
    }
}

extension Watchdog.Check {
    static let agentLoop = Self(name: "the agent's loop") { await visitAgentLoop() }

    static func eventLoops(of group: any EventLoopGroup, name: String) -> Self {
        Self(name: name) {
            for loop in group.makeIterator() { try? await loop.submit {}.get() }
        }
    }
}

/// Runs a job on the agent's loop. A closure would not switch to the loop, and without the precondition the optimiser
/// would remove the switch.
@AgentLoop private func visitAgentLoop() { AgentLoop.shared.preconditionIsolated() }
