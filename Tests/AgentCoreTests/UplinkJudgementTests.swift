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

    private mutating func checkUntilItLeadsOn() -> Duration {
        let begin = now
        var last = now
        while judgement.verdict != .leadsOn {
            last = now
            now = now + judgement.record(nil, at: now)
        }
        return last - begin
    }

    @Test mutating func oneFailureIsNoVerdict() {
        check(.timedOut)
        #expect(judgement.verdict == nil)
        check(nil)
        #expect(judgement.verdict == .leadsOn)
        check(.timedOut)
        #expect(judgement.verdict == .leadsOn)
        check(nil)
        check(.timedOut)
        #expect(judgement.verdict == .leadsOn, "failures in a row count")
    }

    @Test mutating func twoFailuresInARowAreFoundWithinSeconds() {
        check(nil)
        #expect(check(.gatewaySilent, times: 2) == UplinkJudgement.recheck)
        #expect(judgement.verdict == .failed(.gatewaySilent))
    }

    @Test mutating func aFailedUplinkProvesItself() {
        check(.timedOut, times: 2)
        #expect(checkUntilItLeadsOn() == UplinkJudgement.firstTrust)
    }

    // covers: rule/uplink-trusted-later
    @Test mutating func eachEarlyRelapseDoublesTheProof() {
        check(nil)
        var proofs: [Duration] = []
        for _ in 0..<9 {
            check(.timedOut, times: 2)
            proofs.append(checkUntilItLeadsOn())
        }
        #expect(proofs.prefix(4) == [.seconds(10), .seconds(20), .seconds(40), .seconds(80)])
        #expect(proofs.last == UplinkJudgement.longestTrust)
        now = now + UplinkJudgement.probation
        check(.timedOut, times: 2)
        #expect(checkUntilItLeadsOn() == UplinkJudgement.firstTrust, "it lasted")
    }

    @Test mutating func aFailureInterruptsTheProof() {
        check(.timedOut, times: 2)
        check(nil, times: 2)
        check(.timedOut)
        #expect(judgement.verdict == .failed(.timedOut))
        #expect(checkUntilItLeadsOn() == UplinkJudgement.firstTrust)
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
