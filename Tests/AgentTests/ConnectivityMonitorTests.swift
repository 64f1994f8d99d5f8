import AgentCore
import AgentModel
import AppProtocol
import Connectivity
import Failover
import Hotspots
import Linux
import Testing

@testable import Agent

/// How probes are answered, and who is asked for it. The world is a fake, the watch is the real one.
@AgentLoop @Suite struct ConnectivityMonitorTests {
    @Test func aTargetThatWasHeardIsProofWithoutTraffic() async throws {
        let bench = ProbeBench(.target, source: .online, targets: [FakeTarget("broker.example", isTLS: true)])
        bench.targets[0].become(.ready)
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        #expect(bench.questions == 0 && bench.world.gatewayQuestions.load(ordering: .relaxed) == 0)
        #expect(bench.watch.connectivity.level == .target && bench.watch.connectivity.internet == .yes)
    }

    @Test func aSilentTargetIsAFailureThatTheRestExplains() async throws {
        let bench = ProbeBench(.target, source: .failed(.nameServerSilent), targets: [FakeTarget("broker.example")])
        bench.targets[0].answer = .timedOut
        #expect(await bench.probe() == .probed(epoch: 1, .failed))
        #expect(bench.watch.connectivity.problem == .nameServerSilent)
        #expect(bench.watch.connectivity.internet == .no)
    }

    // covers: seed/wifi-and-broker
    @Test func aServerThatRefusesIsNoReasonToLeaveItsNetwork() async throws {
        let bench = ProbeBench(.target, source: .online, targets: [FakeTarget("broker.example")])
        bench.targets[0].answer = .connectionRefused
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        #expect(bench.watch.connectivity.problem == .connectionRefused)
    }

    /// The plainest settings, behind a portal with a certificate of its own, or a router that breaks connections off.
    @Test(arguments: [
        (ReachProblem.tlsFailed, ProbeResult.failed), (.connectionReset, .failed), (.unexpectedAnswer, .failed),
        (.connectionRefused, .online), (.clockNotSet, .online),
    ])
    func aPortalInBetweenProvesNothing(problem: ReachProblem, result: ProbeResult) async throws {
        let bench = ProbeBench(.target, targets: [FakeTarget("broker.example", isTLS: true)])
        bench.targets[0].answer = problem
        #expect(await bench.probe() == .probed(epoch: 1, result))
        #expect(bench.watch.connectivity.level == .lan && bench.watch.connectivity.internet == .unknown)
    }

    @Test(arguments: [(true, ProbeResult.online), (false, .failed)])
    func withoutAnythingElseTheGatewayIsAsked(answers: Bool, result: ProbeResult) async throws {
        let bench = ProbeBench(.lan, gateway: answers)
        #expect(await bench.probe() == .probed(epoch: 1, result))
    }

    @Test func withoutProvidersALoginPageIsTheVerdict() async throws {
        let bench = ProbeBench(.internet, source: .captive(portal: "http://portal.example/"))
        #expect(await bench.probe() == .probed(epoch: 1, .captive))
        #expect(bench.watch.connectivity.portal?.url == "http://portal.example/")
    }

    /// The default where nothing is set: the network says so itself.
    @Test func aLoginPageIsNoLAN() async throws {
        let bench = ProbeBench(.lan, targets: [], api: CaptiveState(isCaptive: true))
        #expect(await bench.probe() == .probed(epoch: 1, .captive))
    }

    // MARK: Portals that answer in place of every server

    @Test func aPortalIsNotTakenForTheDevicesServer() async throws {
        let bench = ProbeBench(.target, source: .captive(portal: nil), targets: [FakeTarget("broker.example")])
        bench.targets[0].become(.ready)
        for _ in 1...3 { #expect(await bench.probe() == .probed(epoch: 1, .captive)) }
        #expect(bench.questions == 3, "it is asked until it says otherwise")
        #expect(bench.watch.connectivity.internet == .captive && bench.watch.connectivity.level == .lan)
    }

    @Test func whatTheNetworkSaysOfItselfCountsAsWell() async throws {
        let bench = ProbeBench(.target, targets: [FakeTarget("broker.example")], api: CaptiveState(isCaptive: true))
        bench.targets[0].become(.ready)
        #expect(await bench.probe() == .probed(epoch: 1, .captive))
    }

    /// Once for each connection, for the network may have closed in between.
    @Test func aServerWithoutACertificateIsBelievedAfterAQuestion() async throws {
        let bench = ProbeBench(.target, source: .online, targets: [FakeTarget("broker.example")])
        bench.targets[0].become(.ready)
        for _ in 1...3 { #expect(await bench.probe() == .probed(epoch: 1, .online)) }
        #expect(bench.questions == 1)
        bench.targets[0].become(.failed, .timedOut)
        bench.world.finding.withLock { $0 = .captive(portal: nil) }
        bench.targets[0].become(.ready)
        #expect(await bench.probe() == .probed(epoch: 1, .captive))
    }

    @Test func aCertificateIsProofWhateverThePortalSays() async throws {
        let target = FakeTarget("broker.example", isTLS: true)
        let bench = ProbeBench(.target, source: .captive(portal: nil), targets: [target])
        #expect(await bench.probe() == .probed(epoch: 1, .captive), "its name leads to the portal, or nowhere")
        target.become(.ready)
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        #expect(bench.watch.connectivity.internet == .yes && bench.watch.connectivity.portal == nil)
    }

    // MARK: Servers in the house

    /// They are there, and the internet is not.
    @Test func aServerInTheHouseSaysNothingOfTheInternet() async throws {
        let house = FakeTarget("192.168.1.5", isTLS: true, isFar: false)
        let bench = ProbeBench(.internet, source: .online, targets: [house])
        house.become(.ready)
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        bench.world.finding.withLock { $0 = .failed(.timedOut) }
        #expect(await bench.probe() == .probed(epoch: 1, .failed))
        #expect(bench.questions == 2, "asked at each probe")
        #expect(bench.watch.connectivity.internet == .no && bench.watch.connectivity.level == .target)
        #expect(bench.watch.connectivity.problem == .timedOut)
    }

    @Test func onlyWhoAnsweredSaysHowFarItLeads() async throws {
        let house = FakeTarget("192.168.1.5", isFar: false)
        let far = FakeTarget("broker.example", isTLS: true)
        far.answer = .timedOut
        let bench = ProbeBench(.target, source: .failed(.timedOut), targets: [house, far])
        house.become(.ready)
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        #expect(bench.watch.connectivity.internet == .no)
    }

    /// The name says internet, the address does not.
    @Test func aNameThatLeadsToTheHouseIsNotFar() async throws {
        let bench = ProbeBench(.target, targets: [FakeTarget("mqtt.fritz.box", isTLS: true, isFar: false)])
        bench.targets[0].become(.ready)
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        #expect(bench.watch.connectivity.internet == .unknown)
    }

    // MARK: The budget

    @Test func theBudgetBoundsWhatTheSourceIsAsked() async throws {
        let bench = ProbeBench(.internet, source: .online)
        for _ in 1...480 { #expect(await bench.probe() == .probed(epoch: 1, .online)) }
        for _ in 1...5 {
            guard case .postponed(epoch: 1, until: let moment) = await bench.probe() else {
                Issue.record("\(bench.policyEvents)")
                return
            }
            #expect(moment - Clock.ofTargets.now <= .seconds(8))
        }
        #expect(bench.questions == 480)
        #expect(bench.watch.connectivity.internet == .yes, "what was found last stands")
    }

    @Test func withoutAQuestionThereIsNoVerdict() async throws {
        let bench = ProbeBench(.internet, source: .online)
        bench.useUpTheBudget()
        guard case .postponed(epoch: 1, _) = await bench.probe() else {
            Issue.record("\(bench.policyEvents)")
            return
        }
        #expect(bench.watch.connectivity.internet == .unknown && bench.questions == 0)
        bench.watch.follow(.wifi(epoch: 2))
        guard case .postponed(epoch: 2, _) = await bench.probe(epoch: 2) else {
            Issue.record("\(bench.policyEvents)")
            return
        }
    }

    @Test func whatCostsNothingIsVerdictEnough() async throws {
        let bench = ProbeBench(.target, source: .online, targets: [FakeTarget("broker.example", isTLS: true)])
        bench.useUpTheBudget()
        bench.targets[0].become(.ready)
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        bench.targets[0].become(.failed, .timedOut)
        bench.targets[0].answer = .timedOut
        #expect(await bench.probe() == .probed(epoch: 1, .failed), "it was asked, and is silent")
    }

    // MARK: Time

    /// The target that is ready and the source are silent; the rest is not lost.
    @Test(.timeLimit(.minutes(10))) func whatWasFoundInTimeCounts() async throws {
        let (dead, house) = (FakeTarget("broker.example"), FakeTarget("192.168.1.5", isFar: false))
        let bench = ProbeBench(.target, source: .online, targets: [dead, house])
        for target in [dead, house] { target.become(.ready) }
        dead.isSilent.store(true, ordering: .relaxed)
        bench.world.isSilent.store(true, ordering: .relaxed)
        let event = await bench.probe { $0.targets[house.host] != nil && $0.gateway != nil }
        #expect(event == .probed(epoch: 1, .online))
        #expect(bench.watch.connectivity.internet == .no && bench.watch.connectivity.level == .target)
        #expect(bench.watch.connectivity.checked != nil)
    }

    @Test(.timeLimit(.minutes(10))) func theFirstTargetThatAnswersIsEnough() async throws {
        let targets = [FakeTarget("broker.example", isTLS: true), FakeTarget("app.example", isTLS: true)]
        let bench = ProbeBench(.target, source: .online, targets: targets)
        targets[0].isSilent.store(true, ordering: .relaxed)
        bench.world.isSilent.store(true, ordering: .relaxed)
        targets[1].becomesReadyWhenProbed = true
        // Nothing would come of it within a test's time.
        #expect(await bench.probe() == .probed(epoch: 1, .online))
    }

    @Test(.timeLimit(.minutes(10))) func aReadyButSilentProviderIsNotWaitedForAlone() async throws {
        let bench = ProbeBench(
            .target, source: .failed(.timedOut), targets: [FakeTarget("broker.example", isTLS: true)])
        bench.targets[0].become(.ready)
        bench.targets[0].isSilent.store(true, ordering: .relaxed)
        bench.watch.wait(forCheck: ProbeBench.ever, headStart: .zero)
        #expect(await bench.probe { $0.source != nil && $0.gateway != nil } == .probed(epoch: 1, .failed))
        #expect(bench.questions == 1, "the others were asked meanwhile")
        #expect(bench.watch.connectivity.level == .lan, "a connection that does not answer proves nothing")
    }

    /// It was asked, did not answer, and has come meanwhile.
    @Test func aTargetThatComesDuringAProbeCounts() async throws {
        let bench = ProbeBench(.target, source: .online, targets: [FakeTarget("broker.example")])
        bench.targets[0].isSilent.store(true, ordering: .relaxed)
        let event = await bench.next {
            bench.watch.probe(epoch: 1, within: ProbeBench.ever)
            bench.become(.ready)
        }
        #expect(event == .probed(epoch: 1, .online))
        #expect(bench.watch.connectivity.level == .target)
    }

    // MARK: Paths

    @Test func connectionsFollowThePath() throws {
        let bench = ProbeBench(.target, targets: [FakeTarget("broker.example")])
        #expect(bench.targets[0].calls == ["open"])
        bench.watch.follow(.wifi(epoch: 1))
        #expect(bench.targets[0].calls.count == 1, "the same path")
        bench.watch.follow(.wifi(epoch: 2))
        bench.watch.follow(.none)
        #expect(bench.watch.connectivity.targets[0].state == .waiting)
        bench.watch.follow(.other(.wired))
        #expect(bench.targets[0].calls.filter { $0 != "probe" } == ["open", "cancel", "open", "cancel", "open"])
        #expect(bench.policyEvents.isEmpty)
    }

    @Test func whatWasFoundOfAnotherPathIsDropped() async throws {
        let bench = ProbeBench(.internet, source: .online)
        bench.watch.probe(epoch: 1, within: ProbeBench.ever)
        bench.watch.follow(.wifi(epoch: 2))
        bench.watch.probe(epoch: 1, within: ProbeBench.ever)
        #expect(await bench.probe(epoch: 2) == .probed(epoch: 2, .online))
        #expect(bench.policyEvents.count == 1)
    }

    @Test func nothingIsToldWithoutAChange() async throws {
        let bench = ProbeBench(.internet, source: .online)
        _ = await bench.probe()
        let changes = bench.changes
        for _ in 1...5 { _ = await bench.probe() }
        #expect(bench.changes == changes)
        bench.world.finding.withLock { $0 = .failed(.timedOut) }
        _ = await bench.probe()
        #expect(bench.changes == changes + 1)
    }

    // MARK: Answers of people

    @Test func whoIsNotAskedCannotAnswer() {
        let bench = ProbeBench(.internet, source: .captive(portal: nil))
        let answer = PortalAnswer(id: 1, values: ["password": Secret(text: "hunter2")])
        let error = #expect(throws: ProtocolError.self) { try bench.watch.answer(answer) }
        #expect(!"\(String(describing: error))".contains("hunter2"))
    }

    /// In every way of printing it.
    @Test func whatAPersonAnswersIsInNoText() {
        let answer = PortalAnswer(id: 1, values: ["password": Secret(text: "hunter2")])
        let request = Request(id: "1", content: .device(.answerPortal(answer)))
        var dumped = ""
        dump(request, to: &dumped)
        for text in ["\(answer)", "\(request)", String(reflecting: request), dumped] {
            #expect(!text.contains("hunter2") && !text.isEmpty)
        }
    }

    @Test func aProviderIsToldWhatTheNetworkSaysOfItself() throws {
        let json = """
            {"captive":true,"user-portal-url":"https://portal.example/","can-extend-session":true,"bytes-remaining":7}
            """
        let api = JoinedNetwork.API(try CaptiveState(json: Array(json.utf8)))
        #expect(api.userPortal == "https://portal.example/" && api.venueInfo == nil)
        #expect(api.canExtendSession == true && api.bytesRemaining == 7 && api.secondsRemaining == nil)
    }
}
