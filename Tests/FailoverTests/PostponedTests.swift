import AgentModel
import Testing

@testable import Failover

/// Probes that were not made, for the budget allows no question.
@Suite struct PostponedTests {
    private static func isProbe(_ action: PolicyAction) -> Bool {
        if case .probe = action { true } else { false }
    }

    private static func isUnusable(_ action: PolicyAction) -> Bool {
        if case .record(let decision) = action { decision.kind == .unusable } else { false }
    }

    /// A device that has begun a probe a moment ago.
    private static func probing() -> Bench {
        var bench = UsefulnessTests.online()
        _ = bench.advance(upTo: .seconds(40), until: isProbe)
        _ = bench.take()
        return bench
    }

    /// - Returns: what it wanted until it asked again.
    private static func untilAsked(_ bench: inout Bench) -> [PolicyAction] {
        let wanted = bench.take()
        _ = bench.advance(upTo: .seconds(40), until: isProbe)
        return wanted + bench.take()
    }

    // covers: rule/probe-budget
    @Test func whatWasNotAskedIsNoStrike() {
        var bench = Self.probing()
        var wanted: [PolicyAction] = []
        for _ in 1...10 {
            bench.send(.postponed(epoch: bench.policy.epoch, until: bench.now + .seconds(7)))
            wanted += Self.untilAsked(&bench)
        }
        // Two failures are there, and what was not asked is no third.
        for _ in 1...2 {
            bench.probeEnds(.failed)
            wanted += Self.untilAsked(&bench)
            bench.send(.postponed(epoch: bench.policy.epoch, until: bench.now + .seconds(7)))
            wanted += Self.untilAsked(&bench)
        }
        #expect(wanted.probes == 14 && !wanted.contains(where: Self.isUnusable))
        bench.probeEnds(.failed)
        #expect(bench.take().contains(where: Self.isUnusable))
    }

    // covers: rule/probe-budget
    @Test(arguments: [
        (Duration.seconds(7), Duration.seconds(7)), (.zero, .seconds(1)), (.seconds(86_400), .seconds(30)),
    ])
    func itIsAskedAgainWhenItMay(wait: Duration, then: Duration) {
        var bench = Self.probing()
        let start = bench.now
        bench.send(.postponed(epoch: bench.policy.epoch, until: bench.now + wait))
        let asks = bench.advance(upTo: .seconds(60), until: Self.isProbe)
        #expect(asks)
        #expect(bench.now - start == then)
    }

    /// The verdict on a link stands as it was.
    @Test func whatWasNotAskedIsNoPraise() {
        var bench = Self.probing()
        for _ in 1...2 {
            bench.probeEnds(.failed)
            _ = Self.untilAsked(&bench)
        }
        bench.probeEnds(.failed)
        #expect(bench.take().contains(where: Self.isUnusable))
        for _ in 1...20 {
            bench.send(.postponed(epoch: bench.policy.epoch, until: bench.now + .seconds(7)))
            let wanted = Self.untilAsked(&bench)
            #expect(!wanted.decisions.contains { $0.kind == .usable })
        }
        guard case .online(let link) = bench.policy.phase else {
            Issue.record("\(bench.policy.phase)")
            return
        }
        #expect(link.uselessness == .noInternet)
    }

    // covers: rule/probe-budget
    @Test func aSwitchWaitsForTheAnswerAndCommitsOnlyOnThat() {
        var bench = UsefulnessTests.online()
        bench.advance(by: .seconds(1))
        bench.send(.switchTo(Bench.backup.id, id: 7))
        bench.finishScan([bench.observation(Bench.backup, -50)])
        bench.joinSucceeds()
        _ = bench.take()
        bench.advance(by: .seconds(1))
        bench.send(.postponed(epoch: bench.policy.epoch, until: bench.now + .seconds(25)))
        bench.advance(by: .seconds(24))
        #expect(bench.take().outcomes.isEmpty)
        let asks = bench.advance(upTo: .seconds(2), until: Self.isProbe)
        #expect(asks)
        bench.probeEnds(.online)
        #expect(bench.take().outcomes == [.committed])
    }

    @Test func aSwitchDoesNotWaitForEver() {
        var bench = UsefulnessTests.online()
        bench.advance(by: .seconds(1))
        bench.send(.switchTo(Bench.backup.id, id: 7, confirmWithin: .seconds(600)))
        bench.finishScan([bench.observation(Bench.backup, -50)])
        bench.joinSucceeds()
        let start = bench.now
        while bench.target == Bench.backup, bench.now - start < .seconds(600) {
            bench.send(.postponed(epoch: bench.policy.epoch, until: bench.now + .seconds(5)))
            bench.advance(by: .seconds(1))
        }
        #expect(bench.now - start <= .seconds(12 + 1))
        bench.joinSucceeds()
        #expect(bench.take().outcomes == [.rolledBack(.noInternet)])
    }

    @Test func whatConcernsAnotherLinkIsNotHeard() {
        var bench = Self.probing()
        bench.send(.postponed(epoch: bench.policy.epoch + 1, until: bench.now + .seconds(30)))
        let start = bench.now
        let asks = bench.advance(upTo: .seconds(10), until: Self.isProbe)
        #expect(asks)
        #expect(bench.now - start <= .seconds(3), "it was not answered, and is asked again")
    }
}
