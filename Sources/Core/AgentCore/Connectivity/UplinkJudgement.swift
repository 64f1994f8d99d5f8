import AgentModel
import Failover

/// Result of an uplink's checks.
package enum UplinkVerdict: Hashable, Sendable {
    /// The uplink reaches the required level.
    case leadsOn
    /// The uplink does not reach the required level, because of this problem.
    case failed(ReachProblem)
    /// The uplink failed and reaches the required level again, but not for long enough yet. It is used if all others
    /// have failed.
    case recovering
}

/// Judges an uplink by the results of its checks, and plans the next check. Two failed checks in a row, or one after a
/// lost connection, make an uplink fail. A failed uplink counts again after a time of successful checks, which doubles
/// with each early relapse.
struct UplinkJudgement: Sendable {
    /// Verdict; nil before the first successful check or the second failed one.
    private(set) var verdict: UplinkVerdict?
    let pace: Pace
    /// Failed checks in a row.
    private var failures = 0
    /// Time of the first of the last successful checks in a row, while the uplink counts as failed.
    private var provenSince: Instant?
    /// Time of the last return from `failed` to `leadsOn`.
    private var returned: Instant?
    /// Duration of successful checks before a failed uplink counts again.
    private var trust = Self.firstTrust
    /// Pause before the next check of a failed uplink.
    private var pause: Duration

    /// Times of checks.
    struct Pace: Sendable {
        /// Time limit of a check while the uplink leads on. A modem needs seconds to leave its idle state.
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
    static let firstTrust = Duration.seconds(10)
    static let longestTrust = Duration.seconds(600)
    /// An uplink that fails within this time of its return has come back too early.
    static let probation = Duration.seconds(600)
    /// Pause between checks while the uplink proves itself.
    private static let proof = Duration.seconds(5)

    /// Least time limit of the checks that decide against an uplink. A longer one would take a failure beyond 10 s.
    private static let decisiveLimit = Duration.milliseconds(2500)

    /// Time limit of the next check.
    var limit: Duration {
        verdict == .leadsOn && failures == 0 ? pace.limit : max(pace.limit, Self.decisiveLimit)
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

    /// Records a lost connection. It counts like all but the last failed check.
    mutating func doubt() {
        if verdict == .leadsOn { failures = max(failures, Self.strikes - 1) }
    }

    /// Starts again after a time without checks. A failed uplink has to prove itself, and any other one to be checked.
    mutating func resume() {
        (failures, provenSince) = (0, nil)
        if verdict == .leadsOn { verdict = nil }
    }

    private var hasFailed: Bool { verdict != nil && verdict != .leadsOn }

    private mutating func succeeded(at now: Instant) -> Duration {
        failures = 0
        guard hasFailed else {
            verdict = .leadsOn
            return pace.interval
        }
        let since = provenSince ?? now
        provenSince = since
        guard now - since < trust else {
            (verdict, returned, provenSince) = (.leadsOn, now, nil)
            return pace.interval
        }
        verdict = .recovering
        return min(Self.proof, trust - (now - since))
    }

    private mutating func failed(_ problem: ReachProblem, at now: Instant) -> Duration {
        failures += 1
        provenSince = nil
        if hasFailed {
            verdict = .failed(problem)
            pause = min(pause * 2, pace.retry.upperBound)
            return pause
        }
        guard failures >= Self.strikes else { return Self.recheck }
        let isRelapse = returned.map { now - $0 < Self.probation } ?? false
        trust = isRelapse ? min(trust * 2, Self.longestTrust) : Self.firstTrust
        verdict = .failed(problem)
        pause = pace.retry.lowerBound
        return pause
    }
}
