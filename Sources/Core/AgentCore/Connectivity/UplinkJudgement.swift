import AgentModel
import Failover

/// Result of an uplink's checks.
package enum UplinkVerdict: Hashable, Sendable {
    /// The uplink reaches the required level.
    case reachesLevel
    /// The uplink does not reach the required level, because of this problem.
    case failed(ReachProblem)
    /// The uplink failed or lost its link, and has not reached the required level again for long enough. It is used if
    /// no other uplink reaches the level.
    case recovering
}

/// Judges an uplink by the results of its checks, and plans the next check. Two failed checks in a row, or one after a
/// lost connection, make an uplink fail. A failed uplink returns after a time of successful checks, and so does one
/// that loses its link soon after its return. The time doubles with each early relapse.
struct UplinkJudgement: Sendable {
    /// Verdict; nil until the first successful check or the second failed one, also after `resume`.
    private(set) var verdict: UplinkVerdict?
    let pace: Pace
    /// Failed checks in a row.
    private var failures = 0
    /// Time of the first of the last successful checks in a row, while the uplink is failed or recovering.
    private var succeedingSince: Instant?
    /// Time of the last loss of the link, while it has not returned.
    private var lost: Instant?
    /// Time of the last return to `reachesLevel`, or of the last loss of the link that needed no recovery.
    private var returned: Instant?
    /// Duration of successful checks before a failed uplink returns.
    private var recovery = Self.firstRecovery
    /// Pause before the next check of a failed uplink.
    private var pause: Duration

    /// Times of checks.
    struct Pace: Sendable {
        /// Time limit of a check while the uplink reaches the required level. A modem needs seconds to leave its idle
        /// state.
        let limit: Duration
        /// Pause after a successful check.
        let interval: Duration
        /// First and longest pause between checks of a failed uplink.
        let retry: ClosedRange<Duration>

        static let wired = Pace(
            limit: .milliseconds(1500), interval: .seconds(5), retry: .seconds(5) ... .seconds(30))
        /// Traffic over a modem may cost money.
        static let cellular = Pace(
            limit: .seconds(4), interval: .seconds(60), retry: .seconds(30) ... .seconds(300))
    }

    /// Failed checks in a row that make an uplink fail.
    static let strikes = 2
    /// Pause after the first failed check.
    static let recheck = Duration.milliseconds(500)
    static let firstRecovery = Duration.seconds(10)
    static let longestRecovery = Duration.seconds(600)
    /// Time after a return within which a failure or a loss of the link is an early relapse.
    static let relapseTime = Duration.seconds(600)
    /// Time within which a link that is back was never lost: a DHCP client may remove the route and set it again.
    private static let replacementTime = Duration.seconds(1)
    /// Pause between checks while the uplink recovers.
    private static let recoveryInterval = Duration.seconds(5)

    /// Minimum time limit of the checks that can make an uplink fail. A longer one delays the verdict beyond 10 s.
    private static let decisiveLimit = Duration.milliseconds(2500)

    /// Time limit of the next check.
    var limit: Duration {
        verdict == .reachesLevel && failures == 0 ? pace.limit : max(pace.limit, Self.decisiveLimit)
    }

    init(_ kind: Uplink) {
        pace = kind == .cellular ? .cellular : .wired
        pause = pace.retry.lowerBound
    }

    /// Records a check.
    /// - Parameter problem: nil if the uplink reaches the required level.
    /// - Returns: pause before the next check.
    mutating func record(_ problem: ReachProblem?, at now: Instant) -> Duration {
        guard let problem else { return succeeded(at: now) }
        return failed(problem, at: now)
    }

    /// Records a lost connection to a target. The next failed check makes the uplink fail.
    mutating func doubt() {
        if verdict == .reachesLevel { failures = max(failures, Self.strikes - 1) }
    }

    /// Records the loss of the link: no carrier, address or route.
    mutating func lost(at now: Instant) {
        if verdict == .reachesLevel { lost = now }
    }

    /// Starts again after a time without checks. A failed uplink must recover, and so must one that lost its link in an
    /// early relapse. Any other one is checked.
    mutating func resume(at now: Instant) {
        (failures, succeedingSince) = (0, nil)
        guard verdict == .reachesLevel else { return }
        let start = lost
        (verdict, lost) = (nil, nil)
        guard let start, now - start >= Self.replacementTime else { return }
        if setRecovery(at: start) {
            (verdict, pause) = (.recovering, pace.retry.lowerBound)
        } else {
            returned = start
        }
    }

    private var mustRecover: Bool { verdict != nil && verdict != .reachesLevel }

    private mutating func succeeded(at now: Instant) -> Duration {
        failures = 0
        guard mustRecover else {
            verdict = .reachesLevel
            return pace.interval
        }
        let since = succeedingSince ?? now
        succeedingSince = since
        guard now - since < recovery else {
            (verdict, returned, succeedingSince) = (.reachesLevel, now, nil)
            return pace.interval
        }
        verdict = .recovering
        return min(Self.recoveryInterval, recovery - (now - since))
    }

    private mutating func failed(_ problem: ReachProblem, at now: Instant) -> Duration {
        failures += 1
        succeedingSince = nil
        if mustRecover {
            verdict = .failed(problem)
            pause = min(pause * 2, pace.retry.upperBound)
            return pause
        }
        guard failures >= Self.strikes else { return Self.recheck }
        setRecovery(at: now)
        verdict = .failed(problem)
        pause = pace.retry.lowerBound
        return pause
    }

    /// Sets the duration of the recovery. An early relapse doubles it.
    /// - Returns: whether the relapse is early.
    @discardableResult
    private mutating func setRecovery(at now: Instant) -> Bool {
        let isEarly = returned.map { now - $0 < Self.relapseTime } ?? false
        recovery = isEarly ? min(recovery * 2, Self.longestRecovery) : Self.firstRecovery
        return isEarly
    }
}
