import AgentCore
import AgentModel
import Connectivity
import Failover
import Linux
import Testing

@testable import Agent

/// Unasked reports of targets' connections, and their effect.
@AgentLoop @Suite struct UnaskedTests {
    private static let broker = "broker.example"

    // MARK: Good words

    @Test func aTargetThatIsBackIsToldAtOnce() throws {
        let desk = ReachDesk(.target, source: .failed(.timedOut), targets: [FakeTarget(Self.broker, isTLS: true)])
        desk.become(.ready)
        #expect(desk.told == [.probed(epoch: 1, .online)])
        #expect(desk.published == 1 && desk.questions == 0)
    }

    @Test func aTargetThatIsBackRaisesTheLevelAtOnce() async throws {
        let desk = ReachDesk(.target, source: .online, targets: [FakeTarget(Self.broker, isTLS: true)])
        desk.targets[0].answer = .connectionRefused
        _ = await desk.probe()
        #expect(desk.watch.connectivity.level == .internet)
        desk.become(.ready)
        #expect(desk.watch.connectivity.level == .target && desk.watch.connectivity.problem == nil)
        #expect(desk.watch.connectivity.internet == .yes)
    }

    /// It may be a portal that is back.
    @Test func aPossiblePortalIsReportedAfterAQuestion() async throws {
        let desk = ReachDesk(.target, source: .online, targets: [FakeTarget(Self.broker)])
        #expect(await desk.next { desk.become(.ready) } == .probed(epoch: 1, .online))
        #expect(desk.questions == 1)
    }

    /// It is none, or the source cannot be asked: then the policy asks when it likes.
    @Test func whatIsNotSureIsNotTold() async throws {
        let desk = ReachDesk(.target, source: .captive(portal: nil), targets: [FakeTarget(Self.broker)])
        desk.become(.ready)
        #expect(await desk.probe() == .probed(epoch: 1, .captive))
        #expect(desk.told.count == 1)
        let poor = ReachDesk(.target, source: .online, targets: [FakeTarget(Self.broker)])
        poor.useUpTheBudget()
        poor.become(.ready)
        guard case .postponed = await poor.probe() else {
            Issue.record("\(poor.told)")
            return
        }
        #expect(poor.told.count == 1)
    }

    /// A server in the house would end a probe of the internet, or a sign-in.
    @Test func whatDoesNotSufficeIsNotTold() async throws {
        let house = FakeTarget("192.168.1.5", isTLS: true, isFar: false)
        let desk = ReachDesk(.internet, source: .failed(.timedOut), targets: [house])
        desk.become(.ready)
        #expect(desk.watch.connectivity.level == .target)
        #expect(await desk.probe() == .probed(epoch: 1, .failed))
        #expect(desk.told.count == 1)
    }

    @Test func theFirstTargetThatIsReadySaysHowFarTheNetworkLeads() throws {
        let desk = ReachDesk(.link, targets: [FakeTarget("192.168.1.5", isFar: false)])
        desk.become(.ready)
        #expect(desk.watch.connectivity.level == .target && desk.watch.connectivity.internet == .unknown)
        #expect(desk.targets[0].calls == ["open"], "and nothing is asked")
        desk.watch.follow(.none)
        #expect(desk.watch.connectivity.level == nil)
        desk.watch.follow(.wifi(epoch: 2))
        #expect(desk.watch.connectivity.level == .link, "it was another network that led there")
    }

    // MARK: Bad words

    /// Without probes, no probe would ever tell.
    @Test(arguments: [ReachLevel.link, .lan, .target])
    func aTargetsEndLowersWhatItsLifeHasRaised(required: ReachLevel) throws {
        let desk = ReachDesk(required, targets: [FakeTarget(Self.broker, isTLS: true)])
        desk.become(.ready)
        #expect(desk.watch.connectivity.level == .target && desk.watch.connectivity.internet == .yes)
        desk.become(.failed, .timedOut)
        #expect(desk.watch.connectivity.level == .lan && desk.watch.connectivity.internet == .unknown)
        #expect(desk.watch.connectivity.problem == .timedOut)
    }

    @Test func theRemainingTargetSaysHowFarItLeads() throws {
        let targets = [FakeTarget(Self.broker, isTLS: true), FakeTarget("192.168.1.5", isFar: false)]
        let desk = ReachDesk(.link, targets: targets)
        desk.become(.ready)
        desk.become(.ready, target: 1)
        desk.become(.failed, .timedOut)
        #expect(desk.watch.connectivity.level == .target && desk.watch.connectivity.internet == .unknown)
    }

    /// That it tries in vain as ever is no news of the network.
    @Test func aTargetThatWasNeverThereSaysNothing() throws {
        let desk = ReachDesk(.target, targets: [FakeTarget(Self.broker)])
        desk.become(.waiting, .timedOut)
        #expect(desk.watch.connectivity.level == .link && desk.watch.connectivity.checked == nil)
        #expect(desk.told.isEmpty && desk.published == 1)
    }

    @Test func aConnectionThatBrokeIsADoubtUnlessAnotherLives() throws {
        let desk = ReachDesk(.target, targets: [FakeTarget(Self.broker), FakeTarget("192.168.1.5", isFar: false)])
        desk.targets[1].become(.ready)
        desk.become(.failed, .timedOut)
        desk.watch.doubted(desk.watch.targets[0])
        #expect(desk.told.isEmpty)
        desk.become(.failed, .timedOut, target: 1)
        desk.watch.doubted(desk.watch.targets[1])
        #expect(desk.told == [.doubted(epoch: 1)])
    }

    /// A target in the house does not lead to the internet.
    @Test func anotherThatLivesMustBeEnough() throws {
        let desk = ReachDesk(.internet, targets: [FakeTarget(Self.broker), FakeTarget("192.168.1.5", isFar: false)])
        desk.targets[1].become(.ready)
        desk.become(.failed, .timedOut)
        desk.watch.doubted(desk.watch.targets[0])
        #expect(desk.told == [.doubted(epoch: 1)])
    }

    @Test(arguments: [ReachLevel.link, .lan])
    func whatIsNotRequiredIsNotDoubted(required: ReachLevel) throws {
        let desk = ReachDesk(required, targets: [FakeTarget(Self.broker)])
        desk.watch.doubted(desk.watch.targets[0])
        #expect(desk.told.isEmpty)
    }

    // MARK: Words that come late

    /// They are on their way from another thread when the network is left.
    @Test func whatIsHeardOfAnotherPathCountsForNothing() async throws {
        let desk = ReachDesk(.target, targets: [FakeTarget(Self.broker, isTLS: true)])
        desk.targets[0].become(.ready)
        desk.watch.follow(.wifi(epoch: 2))
        let (old, new) = (try #require(desk.targets[0].tellers.first), try #require(desk.targets[0].tellers.last))
        old(.changed)
        old(.doubted)
        #expect(await desk.next { new(.changed) } == .probed(epoch: 2, .online))
        #expect(desk.told.count == 1 && desk.published == 1)
    }
}
