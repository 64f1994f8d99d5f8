import AgentModel
import Failover
import Testing

@testable import AgentCore

@Suite struct UplinkJudgementTests {
    private var now = Instant(milliseconds: 1_000_000)
    private var judgement = UplinkJudgement(.wired)

    /// Checks at the times that the judgement plans, until `count` checks are done.
    /// - Returns: duration from the first to the last check.
    @discardableResult
    private mutating func check(_ problem: ReachProblem?, times count: Int = 1) -> Duration {
        let begin = now
        var last = now
        for _ in 0..<count {
            last = now
            now = now + judgement.record(problem, at: now)
        }
        return last - begin
    }

    private mutating func checkUntilItReachesTheLevel() -> Duration {
        let begin = now
        var last = now
        while judgement.verdict != .reachesLevel {
            last = now
            now = now + judgement.record(nil, at: now)
        }
        return last - begin
    }

    @Test mutating func oneFailureIsNoVerdict() {
        check(.timedOut)
        #expect(judgement.verdict == nil)
        check(nil)
        #expect(judgement.verdict == .reachesLevel)
        check(.timedOut)
        #expect(judgement.verdict == .reachesLevel)
        check(nil)
        check(.timedOut)
        #expect(judgement.verdict == .reachesLevel, "failures in a row count")
    }

    @Test mutating func twoFailuresInARowAreFoundWithinSeconds() {
        check(nil)
        #expect(check(.gatewaySilent, times: 2) == UplinkJudgement.recheck)
        #expect(judgement.verdict == .failed(.gatewaySilent))
    }

    @Test mutating func aFailedUplinkReturnsAfterSuccessfulChecks() {
        check(.timedOut, times: 2)
        #expect(checkUntilItReachesTheLevel() == UplinkJudgement.firstRecovery)
    }

    // covers: rule/uplink-trusted-later
    @Test mutating func eachEarlyRelapseDoublesTheRecovery() {
        check(nil)
        var recoveries: [Duration] = []
        for _ in 0..<9 {
            check(.timedOut, times: 2)
            recoveries.append(checkUntilItReachesTheLevel())
        }
        #expect(recoveries.prefix(4) == [.seconds(10), .seconds(20), .seconds(40), .seconds(80)])
        #expect(recoveries.last == UplinkJudgement.longestRecovery)
        now = now + UplinkJudgement.relapseTime
        check(.timedOut, times: 2)
        #expect(checkUntilItReachesTheLevel() == UplinkJudgement.firstRecovery, "it lasted")
    }

    @Test mutating func aFailureInterruptsTheRecovery() {
        check(.timedOut, times: 2)
        check(nil, times: 2)
        check(.timedOut)
        #expect(judgement.verdict == .failed(.timedOut))
        #expect(checkUntilItReachesTheLevel() == UplinkJudgement.firstRecovery)
    }

    @Test mutating func onlyTheFirstLossOfTheLinkNeedsNoRecovery() {
        var stays: [Duration] = []
        check(nil)
        for _ in 0..<8 {
            loseTheLink(for: .seconds(1))
            stays.append(checkUntilItReachesTheLevel())
        }
        #expect(stays.prefix(4) == [.zero, .seconds(20), .seconds(40), .seconds(80)])
        #expect(stays.last == UplinkJudgement.longestRecovery)
        now = now + UplinkJudgement.relapseTime
        loseTheLink(for: .seconds(1))
        #expect(checkUntilItReachesTheLevel() == .zero, "it lasted")
    }

    private mutating func loseTheLink(for time: Duration) {
        judgement.lost(at: now)
        now = now + time
        judgement.resume(at: now)
    }

    @Test mutating func aRouteThatIsReplacedIsNoLoss() {
        check(nil)
        for _ in 0..<8 {
            loseTheLink(for: .milliseconds(100))
            #expect(checkUntilItReachesTheLevel() == .zero)
        }
    }

    @Test mutating func aLossOfTheLinkDuringTheRecoveryStartsItAgain() {
        check(.timedOut, times: 2)
        check(nil, times: 2)
        loseTheLink(for: .seconds(1))
        #expect(judgement.verdict == .recovering)
        #expect(checkUntilItReachesTheLevel() == UplinkJudgement.firstRecovery)
    }

    @Test(arguments: [Uplink.wired, .cellular])
    mutating func checksOfAFailedUplinkBecomeRarer(kind: Uplink) {
        judgement = UplinkJudgement(kind)
        check(.timedOut, times: 2)
        var pauses: [Duration] = []
        for _ in 0..<6 { pauses.append(judgement.record(.timedOut, at: now)) }
        #expect(pauses == pauses.sorted())
        #expect(pauses.last == (kind == .wired ? .seconds(30) : .seconds(300)))
    }

    @Test mutating func theVerdictNamesTheLastProblem() {
        check(.timedOut, times: 2)
        check(.captive)
        #expect(judgement.verdict == .failed(.captive))
    }
}
