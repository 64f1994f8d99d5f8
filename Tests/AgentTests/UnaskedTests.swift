import AgentCore
import AgentModel
import Failover
import Linux
import Testing

@testable import Agent

/// Unasked reports of targets' connections, and their effect.
@AgentLoop @Suite struct UnaskedTests {
    private static let broker = "broker.example"

    // MARK: Good words

    @Test func aTargetThatIsBackIsToldAtOnce() throws {
        let bench = ProbeBench(.target, source: .failed(.timedOut), targets: [FakeTarget(Self.broker, isTLS: true)])
        bench.become(.ready)
        #expect(bench.policyEvents == [.probed(epoch: 1, .online)])
        #expect(bench.published == 1 && bench.questions == 0)
    }

    @Test func aTargetThatIsBackRaisesTheLevelAtOnce() async throws {
        let bench = ProbeBench(.target, source: .online, targets: [FakeTarget(Self.broker, isTLS: true)])
        bench.targets[0].answer = .connectionRefused
        _ = await bench.probe()
        #expect(bench.watch.connectivity.level == .internet)
        bench.become(.ready)
        #expect(bench.watch.connectivity.level == .target && bench.watch.connectivity.problem == nil)
        #expect(bench.watch.connectivity.internet == .yes)
    }

    /// It may be a portal that is back.
    @Test func aPossiblePortalIsReportedAfterAQuestion() async throws {
        let bench = ProbeBench(.target, source: .online, targets: [FakeTarget(Self.broker)])
        #expect(await bench.next { bench.become(.ready) } == .probed(epoch: 1, .online))
        #expect(bench.questions == 1)
    }

    /// It is none, or the source cannot be asked: then the policy asks when it likes.
    @Test func whatIsNotSureIsNotTold() async throws {
        let bench = ProbeBench(.target, source: .captive(portal: nil), targets: [FakeTarget(Self.broker)])
        bench.become(.ready)
        #expect(await bench.probe() == .probed(epoch: 1, .captive))
        #expect(bench.policyEvents.count == 1)
        let poor = ProbeBench(.target, source: .online, targets: [FakeTarget(Self.broker)])
        poor.useUpTheBudget()
        poor.become(.ready)
        guard case .postponed = await poor.probe() else {
            Issue.record("\(poor.policyEvents)")
            return
        }
        #expect(poor.policyEvents.count == 1)
    }

    /// A server in the house would end a probe of the internet, or a sign-in.
    @Test func whatDoesNotSufficeIsNotTold() async throws {
        let house = FakeTarget("192.168.1.5", isTLS: true, isFar: false)
        let bench = ProbeBench(.internet, source: .failed(.timedOut), targets: [house])
        bench.become(.ready)
        #expect(bench.watch.connectivity.level == .target)
        #expect(await bench.probe() == .probed(epoch: 1, .failed))
        #expect(bench.policyEvents.count == 1)
    }

    @Test func theFirstTargetThatIsReadySaysHowFarTheNetworkLeads() throws {
        let bench = ProbeBench(.link, targets: [FakeTarget("192.168.1.5", isFar: false)])
        bench.become(.ready)
        #expect(bench.watch.connectivity.level == .target && bench.watch.connectivity.internet == .unknown)
        #expect(bench.targets[0].calls == ["open"], "and nothing is asked")
        bench.watch.follow(.none)
        #expect(bench.watch.connectivity.level == nil)
        bench.watch.follow(.wifi(epoch: 2))
        #expect(bench.watch.connectivity.level == .link, "it was another network that led there")
    }

    // MARK: Bad words

    /// Without probes, no probe would ever tell.
    @Test(arguments: [ReachLevel.link, .lan, .target])
    func aTargetsEndLowersWhatItsLifeHasRaised(required: ReachLevel) throws {
        let bench = ProbeBench(required, targets: [FakeTarget(Self.broker, isTLS: true)])
        bench.become(.ready)
        #expect(bench.watch.connectivity.level == .target && bench.watch.connectivity.internet == .yes)
        bench.become(.failed, .timedOut)
        #expect(bench.watch.connectivity.level == .lan && bench.watch.connectivity.internet == .unknown)
        #expect(bench.watch.connectivity.problem == .timedOut)
    }

    @Test func theRemainingTargetSaysHowFarItLeads() throws {
        let targets = [FakeTarget(Self.broker, isTLS: true), FakeTarget("192.168.1.5", isFar: false)]
        let bench = ProbeBench(.link, targets: targets)
        bench.become(.ready)
        bench.become(.ready, target: 1)
        bench.become(.failed, .timedOut)
        #expect(bench.watch.connectivity.level == .target && bench.watch.connectivity.internet == .unknown)
    }

    /// That it tries in vain as ever is no news of the network.
    @Test func aTargetThatWasNeverThereSaysNothing() throws {
        let bench = ProbeBench(.target, targets: [FakeTarget(Self.broker)])
        bench.become(.waiting, .timedOut)
        #expect(bench.watch.connectivity.level == .link && bench.watch.connectivity.checked == nil)
        #expect(bench.policyEvents.isEmpty && bench.published == 1)
    }

    @Test func aConnectionThatBrokeIsADoubtUnlessAnotherLives() throws {
        let bench = ProbeBench(.target, targets: [FakeTarget(Self.broker), FakeTarget("192.168.1.5", isFar: false)])
        bench.targets[1].become(.ready)
        bench.become(.failed, .timedOut)
        bench.watch.doubted(bench.watch.targets[0])
        #expect(bench.policyEvents.isEmpty)
        bench.become(.failed, .timedOut, target: 1)
        bench.watch.doubted(bench.watch.targets[1])
        #expect(bench.policyEvents == [.doubted(epoch: 1)])
    }

    /// A target in the house does not lead to the internet.
    @Test func anotherThatLivesMustBeEnough() throws {
        let bench = ProbeBench(.internet, targets: [FakeTarget(Self.broker), FakeTarget("192.168.1.5", isFar: false)])
        bench.targets[1].become(.ready)
        bench.become(.failed, .timedOut)
        bench.watch.doubted(bench.watch.targets[0])
        #expect(bench.policyEvents == [.doubted(epoch: 1)])
    }

    @Test(arguments: [ReachLevel.link, .lan])
    func whatIsNotRequiredIsNotDoubted(required: ReachLevel) throws {
        let bench = ProbeBench(required, targets: [FakeTarget(Self.broker)])
        bench.watch.doubted(bench.watch.targets[0])
        #expect(bench.policyEvents.isEmpty)
    }

    // MARK: Words that come late

    /// They are on their way from another thread when the network is left.
    @Test func whatIsHeardOfAnotherPathCountsForNothing() async throws {
        let bench = ProbeBench(.target, targets: [FakeTarget(Self.broker, isTLS: true)])
        bench.targets[0].become(.ready)
        bench.watch.follow(.wifi(epoch: 2))
        let (old, new) = (try #require(bench.targets[0].tellers.first), try #require(bench.targets[0].tellers.last))
        old(.changed)
        old(.doubted)
        #expect(await bench.next { new(.changed) } == .probed(epoch: 2, .online))
        #expect(bench.policyEvents.count == 1 && bench.published == 1)
    }
}
