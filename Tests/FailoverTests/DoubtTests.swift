import AgentModel
import Testing

@testable import Failover

/// Links over which something was reached that does not answer any more.
@Suite struct DoubtTests {
    private static let validation = PolicySettings.Validation()
    /// A keep-alive without an answer is noticed after this.
    private static let keepAlive = Duration.seconds(6)

    private static func isUnusable(_ action: PolicyAction) -> Bool {
        if case .record(let decision) = action { decision.kind == .unusable } else { false }
    }

    // covers: rule/no-internet-doubt
    @Test func aLinkThatWentSilentIsLeftWithinTenSeconds() {
        var bench = UsefulnessTests.online()
        let cut = bench.now
        bench.advance(by: Self.keepAlive)
        _ = bench.take()
        bench.send(.doubted(epoch: bench.policy.epoch))
        #expect(bench.take().contains(.probe(epoch: bench.policy.epoch, within: .seconds(2))), "at once")
        let happens = bench.advance(upTo: .seconds(20), until: Self.isUnusable)
        #expect(happens)
        #expect(bench.now - cut == .seconds(6 + 2 + 2))
        let observations = [bench.observation(Bench.home, -40), bench.observation(Bench.backup, -70)]
        if bench.policy.scan != nil { bench.finishScan(observations) }
        #expect(bench.target == Bench.backup)
    }

    /// Silence was pause enough; a refusal that comes at once is no reason to ask without end.
    // covers: rule/probe-interval
    @Test func theNextProbeBeginsASecondAfterTheLastOneOrAtItsEnd() {
        var bench = UsefulnessTests.online()
        func isProbe(_ action: PolicyAction) -> Bool { if case .probe = action { true } else { false } }
        let begins = bench.advance(upTo: .seconds(40), until: isProbe)
        #expect(begins)
        bench.advance(by: .milliseconds(300))
        bench.probeEnds(.failed)
        _ = bench.take()
        bench.advance(by: .milliseconds(699))
        #expect(bench.take().probes == 0)
        bench.advance(by: .milliseconds(1))
        #expect(bench.take().probes == 1)
        bench.advance(by: .milliseconds(1200))
        #expect(bench.take().probes == 0)
        bench.probeEnds(.failed)
        #expect(bench.take().probes == 1, "at once")
    }

    // covers: rule/no-internet-doubt
    @Test func aDoubtThatIsSettledCostsNothing() {
        var bench = UsefulnessTests.online()
        for _ in 1...20 {
            bench.send(.doubted(epoch: bench.policy.epoch))
            bench.advance(by: .milliseconds(200))
            bench.probeEnds(.online)
            let settled = bench.now
            _ = bench.take()
            let isProbed = bench.advance(upTo: .seconds(40)) { if case .probe = $0 { true } else { false } }
            #expect(isProbed, "the next one comes as if nothing had been")
            #expect(bench.now - settled == Self.validation.interval)
            #expect(bench.actions.contains(.probe(epoch: bench.policy.epoch, within: Self.validation.limit)))
            bench.probeEnds(.online)
            bench.advance(by: .seconds(10))
        }
        #expect(bench.take().decisions.isEmpty)
        #expect(bench.target == Bench.home)
    }

    @Test func anUnrequestedGoodProbeSettlesADoubt() {
        var bench = UsefulnessTests.online()
        bench.send(.doubted(epoch: bench.policy.epoch))
        bench.advance(by: .seconds(2))
        bench.send(.probed(epoch: bench.policy.epoch, .online))
        bench.advance(by: .seconds(1))
        bench.probeEnds(.failed)
        #expect(bench.policy.phase.network == Bench.home.id)
        #expect(!bench.take().contains(where: Self.isUnusable), "one failure, and no doubt")
    }

    @Test func aDoubtAloneIsNoProof() {
        var bench = UsefulnessTests.online()
        for _ in 1...50 { bench.send(.doubted(epoch: bench.policy.epoch)) }
        bench.probeEnds(.failed)
        #expect(!bench.take().contains(where: Self.isUnusable), "two strikes of three")
        bench.advance(by: .seconds(1))
        bench.probeEnds(.failed)
        #expect(bench.take().contains(where: Self.isUnusable))
    }

    @Test func aDoubtShortensTheProbeThatIsUnderWay() {
        var bench = UsefulnessTests.online()
        let isVerified = bench.advance(upTo: .seconds(40)) { if case .probe = $0 { true } else { false } }
        #expect(isVerified)
        let start = bench.now
        bench.advance(by: .milliseconds(1500))
        bench.send(.doubted(epoch: bench.policy.epoch))
        let happens = bench.advance(upTo: .seconds(20), until: Self.isUnusable)
        #expect(happens)
        #expect(bench.now - start == .seconds(2 + 2))
    }

    /// A host that breaks the connection again and again does not make the device probe again and again.
    // covers: rule/no-internet-doubt
    @Test(arguments: [Duration.milliseconds(50), .seconds(1), .seconds(7), .seconds(31), .seconds(61)])
    func aFloodOfDoubtsCostsNoMoreThanTheBudget(pause: Duration) {
        var bench = UsefulnessTests.online([Bench.home])
        let end = bench.now + .seconds(3600)
        var probes = 0
        while bench.now < end {
            bench.send(.doubted(epoch: bench.policy.epoch))
            bench.advance(by: pause)
            let count = bench.take().probes
            probes += count
            if count > 0 { bench.probeEnds(.online) }
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
        }
        #expect((1...250).contains(probes), "\(probes) in an hour")
        #expect(bench.target == Bench.home)
    }

    @Test func doubtsOfAnotherLinkAndOfAUselessOneAreDropped() {
        var bench = UsefulnessTests.online([Bench.home])
        bench.send(.doubted(epoch: bench.policy.epoch - 1))
        #expect(bench.take().probes == 0)
        UsefulnessTests.internetDies(&bench)
        _ = bench.take()
        for _ in 1...100 { bench.send(.doubted(epoch: bench.policy.epoch)) }
        #expect(bench.take().probes == 0)
    }

    @Test func withoutAProberADoubtIsNothing() {
        var bench = Bench.online([Bench.home, Bench.backup])
        bench.send(.doubted(epoch: bench.policy.epoch))
        bench.send(.signingIn(epoch: bench.policy.epoch, until: bench.now + .seconds(30)))
        #expect(bench.take().isEmpty)
    }

    @Test func aGoodWordOnAUselessLinkIsWorthAProbe() {
        var bench = UsefulnessTests.online([Bench.home])
        UsefulnessTests.internetDies(&bench)
        while bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.home, -50)]) }
        _ = bench.take()
        bench.send(.probed(epoch: bench.policy.epoch, .online))
        #expect(bench.take().probes == 1)
        for _ in 1...Self.validation.strikes {
            bench.probeEnds(.online)
            bench.advance(by: .seconds(1))
        }
        #expect(bench.take().decisions.last?.kind == .usable, "and not after an interval for each")
    }

    @Test func whatHappensAtOnceIsTakenInInOneOrder() {
        var bench = UsefulnessTests.online()
        var policy = bench.policy
        let events: [PolicyEvent] = [
            .probed(epoch: policy.epoch, .online), .doubted(epoch: policy.epoch),
        ]
        bench.advance(by: .seconds(1))
        let there = policy.handle(events, at: bench.now)
        policy = bench.policy
        #expect(policy.handle(events.reversed(), at: bench.now) == there)
        #expect(there.probes == 0, "it was settled at the same moment")
    }

    // MARK: Nothing better anywhere

    /// Two networks, and what the device needs is down: few switches.
    // covers: rule/no-internet-everywhere
    @Test func anOutageEverywhereLeadsToFewSwitches() {
        var bench = UsefulnessTests.online()
        bench.send(.doubted(epoch: bench.policy.epoch))
        let start = bench.now
        var hours: [Int] = []
        var switches = 0
        while bench.now - start < .seconds(24 * 3600) {
            bench.advance(by: .milliseconds(500))
            bench.probeEnds(.failed)
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -50), bench.observation(Bench.backup, -55)])
            }
            if bench.policy.attempt != nil {
                switches += 1
                bench.joinSucceeds()
                bench.send(.doubted(epoch: bench.policy.epoch))
            }
            if bench.now - start >= .seconds(3600 * (hours.count + 1)) {
                hours.append(switches)
                switches = 0
            }
        }
        #expect(hours[0] <= 16 && hours.dropFirst().allSatisfy { $0 <= 3 }, "switches by hour: \(hours)")
    }

    @Test func deadInternetIsReturnedToWhenItHealsAndNotBefore() {
        var bench = UsefulnessTests.online()
        bench.advance(by: .seconds(11))
        bench.send(.doubted(epoch: bench.policy.epoch))
        _ = bench.advance(upTo: .seconds(20), until: Self.isUnusable)
        bench.finishScan([bench.observation(Bench.home, -40), bench.observation(Bench.backup, -60)])
        bench.joinSucceeds()
        bench.probeEnds(.online)
        let left = bench.now
        while bench.target == Bench.backup, bench.now - left < .seconds(1200) {
            bench.advance(by: .seconds(1))
            bench.probeEnds(.online)
            if bench.policy.scan != nil {
                bench.finishScan([bench.observation(Bench.home, -40), bench.observation(Bench.backup, -60)])
            }
        }
        #expect(bench.target == Bench.home)
        #expect(bench.now - left >= .seconds(290) && bench.now - left <= .seconds(480))
    }
}
