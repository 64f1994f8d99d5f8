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
        let desk = ReachDesk(.target, source: .online, targets: [FakeTarget("broker.example", isTLS: true)])
        desk.targets[0].become(.ready)
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        #expect(desk.questions == 0 && desk.world.gatewayQuestions.load(ordering: .relaxed) == 0)
        #expect(desk.watch.connectivity.level == .target && desk.watch.connectivity.internet == .yes)
    }

    @Test func aSilentTargetIsAFailureThatTheRestExplains() async throws {
        let desk = ReachDesk(.target, source: .failed(.nameServerSilent), targets: [FakeTarget("broker.example")])
        desk.targets[0].answer = .timedOut
        #expect(await desk.probe() == .probed(epoch: 1, .failed))
        #expect(desk.watch.connectivity.problem == .nameServerSilent)
        #expect(desk.watch.connectivity.internet == .no)
    }

    // covers: seed/wifi-and-broker
    @Test func aServerThatRefusesIsNoReasonToLeaveItsNetwork() async throws {
        let desk = ReachDesk(.target, source: .online, targets: [FakeTarget("broker.example")])
        desk.targets[0].answer = .connectionRefused
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        #expect(desk.watch.connectivity.problem == .connectionRefused)
    }

    /// The plainest settings, behind a portal with a certificate of its own, or a router that breaks connections off.
    @Test(arguments: [
        (ReachProblem.tlsFailed, ProbeResult.failed), (.connectionReset, .failed), (.unexpectedAnswer, .failed),
        (.connectionRefused, .online),
    ])
    func aPortalInBetweenProvesNothing(problem: ReachProblem, result: ProbeResult) async throws {
        let desk = ReachDesk(.target, targets: [FakeTarget("broker.example", isTLS: true)])
        desk.targets[0].answer = problem
        #expect(await desk.probe() == .probed(epoch: 1, result))
        #expect(desk.watch.connectivity.level == .lan && desk.watch.connectivity.internet == .unknown)
    }

    @Test(arguments: [(true, ProbeResult.online), (false, .failed)])
    func withoutAnythingElseTheGatewayIsAsked(answers: Bool, result: ProbeResult) async throws {
        let desk = ReachDesk(.lan, gateway: answers)
        #expect(await desk.probe() == .probed(epoch: 1, result))
    }

    @Test func withoutProvidersALoginPageIsTheVerdict() async throws {
        let desk = ReachDesk(.internet, source: .captive(portal: "http://portal.example/"))
        #expect(await desk.probe() == .probed(epoch: 1, .captive))
        #expect(desk.watch.connectivity.portal?.url == "http://portal.example/")
    }

    /// The default where nothing is set: the network says so itself.
    @Test func aLoginPageIsNoLAN() async throws {
        let desk = ReachDesk(.lan, targets: [], api: CaptiveState(isCaptive: true))
        #expect(await desk.probe() == .probed(epoch: 1, .captive))
    }

    // MARK: Portals that answer in place of every server

    @Test func aPortalIsNotTakenForTheDevicesServer() async throws {
        let desk = ReachDesk(.target, source: .captive(portal: nil), targets: [FakeTarget("broker.example")])
        desk.targets[0].become(.ready)
        for _ in 1...3 { #expect(await desk.probe() == .probed(epoch: 1, .captive)) }
        #expect(desk.questions == 3, "it is asked until it says otherwise")
        #expect(desk.watch.connectivity.internet == .captive && desk.watch.connectivity.level == .lan)
    }

    @Test func whatTheNetworkSaysOfItselfCountsAsWell() async throws {
        let desk = ReachDesk(.target, targets: [FakeTarget("broker.example")], api: CaptiveState(isCaptive: true))
        desk.targets[0].become(.ready)
        #expect(await desk.probe() == .probed(epoch: 1, .captive))
    }

    /// Once for each connection, for the network may have closed in between.
    @Test func aServerWithoutACertificateIsBelievedAfterAQuestion() async throws {
        let desk = ReachDesk(.target, source: .online, targets: [FakeTarget("broker.example")])
        desk.targets[0].become(.ready)
        for _ in 1...3 { #expect(await desk.probe() == .probed(epoch: 1, .online)) }
        #expect(desk.questions == 1)
        desk.targets[0].become(.failed, .timedOut)
        desk.world.finding.withLock { $0 = .captive(portal: nil) }
        desk.targets[0].become(.ready)
        #expect(await desk.probe() == .probed(epoch: 1, .captive))
    }

    @Test func aCertificateIsProofWhateverThePortalSays() async throws {
        let target = FakeTarget("broker.example", isTLS: true)
        let desk = ReachDesk(.target, source: .captive(portal: nil), targets: [target])
        #expect(await desk.probe() == .probed(epoch: 1, .captive), "its name leads to the portal, or nowhere")
        target.become(.ready)
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        #expect(desk.watch.connectivity.internet == .yes && desk.watch.connectivity.portal == nil)
    }

    // MARK: Servers in the house

    /// They are there, and the internet is not.
    @Test func aServerInTheHouseSaysNothingOfTheInternet() async throws {
        let house = FakeTarget("192.168.1.5", isTLS: true, isFar: false)
        let desk = ReachDesk(.internet, source: .online, targets: [house])
        house.become(.ready)
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        desk.world.finding.withLock { $0 = .failed(.timedOut) }
        #expect(await desk.probe() == .probed(epoch: 1, .failed))
        #expect(desk.questions == 2, "asked at each probe")
        #expect(desk.watch.connectivity.internet == .no && desk.watch.connectivity.level == .target)
        #expect(desk.watch.connectivity.problem == .timedOut)
    }

    @Test func onlyWhoAnsweredSaysHowFarItLeads() async throws {
        let house = FakeTarget("192.168.1.5", isFar: false)
        let far = FakeTarget("broker.example", isTLS: true)
        far.answer = .timedOut
        let desk = ReachDesk(.target, source: .failed(.timedOut), targets: [house, far])
        house.become(.ready)
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        #expect(desk.watch.connectivity.internet == .no)
    }

    /// The name says internet, the address does not.
    @Test func aNameThatLeadsToTheHouseIsNotFar() async throws {
        let desk = ReachDesk(.target, targets: [FakeTarget("mqtt.fritz.box", isTLS: true, isFar: false)])
        desk.targets[0].become(.ready)
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        #expect(desk.watch.connectivity.internet == .unknown)
    }

    // MARK: The budget

    @Test func theBudgetBoundsWhatTheSourceIsAsked() async throws {
        let desk = ReachDesk(.internet, source: .online)
        for _ in 1...480 { #expect(await desk.probe() == .probed(epoch: 1, .online)) }
        for _ in 1...5 {
            guard case .postponed(epoch: 1, until: let moment) = await desk.probe() else {
                Issue.record("\(desk.told)")
                return
            }
            #expect(moment - Clock.ofTargets.now <= .seconds(8))
        }
        #expect(desk.questions == 480)
        #expect(desk.watch.connectivity.internet == .yes, "what was found last stands")
    }

    @Test func withoutAQuestionThereIsNoVerdict() async throws {
        let desk = ReachDesk(.internet, source: .online)
        desk.useUpTheBudget()
        guard case .postponed(epoch: 1, _) = await desk.probe() else {
            Issue.record("\(desk.told)")
            return
        }
        #expect(desk.watch.connectivity.internet == .unknown && desk.questions == 0)
        desk.watch.follow(.wifi(epoch: 2))
        guard case .postponed(epoch: 2, _) = await desk.probe(epoch: 2) else {
            Issue.record("\(desk.told)")
            return
        }
    }

    @Test func whatCostsNothingIsVerdictEnough() async throws {
        let desk = ReachDesk(.target, source: .online, targets: [FakeTarget("broker.example", isTLS: true)])
        desk.useUpTheBudget()
        desk.targets[0].become(.ready)
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        desk.targets[0].become(.failed, .timedOut)
        desk.targets[0].answer = .timedOut
        #expect(await desk.probe() == .probed(epoch: 1, .failed), "it was asked, and is silent")
    }

    // MARK: Time

    /// The target that is ready and the source are silent; the rest is not lost.
    @Test(.timeLimit(.minutes(10))) func whatWasFoundInTimeCounts() async throws {
        let (dead, house) = (FakeTarget("broker.example"), FakeTarget("192.168.1.5", isFar: false))
        let desk = ReachDesk(.target, source: .online, targets: [dead, house])
        for target in [dead, house] { target.become(.ready) }
        dead.isSilent.store(true, ordering: .relaxed)
        desk.world.isSilent.store(true, ordering: .relaxed)
        let event = await desk.probe { $0.targets[house.host] != nil && $0.gateway != nil }
        #expect(event == .probed(epoch: 1, .online))
        #expect(desk.watch.connectivity.internet == .no && desk.watch.connectivity.level == .target)
        #expect(desk.watch.connectivity.checked != nil)
    }

    @Test(.timeLimit(.minutes(10))) func theFirstTargetThatAnswersIsEnough() async throws {
        let targets = [FakeTarget("broker.example", isTLS: true), FakeTarget("app.example", isTLS: true)]
        let desk = ReachDesk(.target, source: .online, targets: targets)
        targets[0].isSilent.store(true, ordering: .relaxed)
        desk.world.isSilent.store(true, ordering: .relaxed)
        targets[1].becomesReadyWhenProbed = true
        // Nothing would come of it within a test's time.
        #expect(await desk.probe() == .probed(epoch: 1, .online))
    }

    @Test(.timeLimit(.minutes(10))) func aReadyButSilentProviderIsNotWaitedForAlone() async throws {
        let desk = ReachDesk(.target, source: .failed(.timedOut), targets: [FakeTarget("broker.example", isTLS: true)])
        desk.targets[0].become(.ready)
        desk.targets[0].isSilent.store(true, ordering: .relaxed)
        desk.watch.wait(forCheck: ReachDesk.ever, headStart: .zero)
        #expect(await desk.probe { $0.source != nil && $0.gateway != nil } == .probed(epoch: 1, .failed))
        #expect(desk.questions == 1, "the others were asked meanwhile")
        #expect(desk.watch.connectivity.level == .lan, "a connection that does not answer proves nothing")
    }

    /// It was asked, did not answer, and has come meanwhile.
    @Test func aTargetThatComesDuringAProbeCounts() async throws {
        let desk = ReachDesk(.target, source: .online, targets: [FakeTarget("broker.example")])
        desk.targets[0].isSilent.store(true, ordering: .relaxed)
        let event = await desk.next {
            desk.watch.probe(epoch: 1, within: ReachDesk.ever)
            desk.become(.ready)
        }
        #expect(event == .probed(epoch: 1, .online))
        #expect(desk.watch.connectivity.level == .target)
    }

    // MARK: Paths

    @Test func connectionsFollowThePath() throws {
        let desk = ReachDesk(.target, targets: [FakeTarget("broker.example")])
        #expect(desk.targets[0].calls == ["open"])
        desk.watch.follow(.wifi(epoch: 1))
        #expect(desk.targets[0].calls.count == 1, "the same path")
        desk.watch.follow(.wifi(epoch: 2))
        desk.watch.follow(.none)
        #expect(desk.watch.connectivity.targets[0].state == .waiting)
        desk.watch.follow(.other(.wired))
        #expect(desk.targets[0].calls.filter { $0 != "probe" } == ["open", "cancel", "open", "cancel", "open"])
        #expect(desk.told.isEmpty)
    }

    @Test func whatWasFoundOfAnotherPathIsDropped() async throws {
        let desk = ReachDesk(.internet, source: .online)
        desk.watch.probe(epoch: 1, within: ReachDesk.ever)
        desk.watch.follow(.wifi(epoch: 2))
        desk.watch.probe(epoch: 1, within: ReachDesk.ever)
        #expect(await desk.probe(epoch: 2) == .probed(epoch: 2, .online))
        #expect(desk.told.count == 1)
    }

    @Test func nothingIsToldWithoutAChange() async throws {
        let desk = ReachDesk(.internet, source: .online)
        _ = await desk.probe()
        let changes = desk.changes
        for _ in 1...5 { _ = await desk.probe() }
        #expect(desk.changes == changes)
        desk.world.finding.withLock { $0 = .failed(.timedOut) }
        _ = await desk.probe()
        #expect(desk.changes == changes + 1)
    }

    // MARK: Answers of people

    @Test func whoIsNotAskedCannotAnswer() {
        let desk = ReachDesk(.internet, source: .captive(portal: nil))
        let answer = PortalAnswer(id: 1, values: ["password": Secret(text: "hunter2")])
        let error = #expect(throws: ProtocolError.self) { try desk.watch.answer(answer) }
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
        let api = CaptiveNetwork.API(try CaptiveState(json: Array(json.utf8)))
        #expect(api.userPortal == "https://portal.example/" && api.venueInfo == nil)
        #expect(api.canExtendSession == true && api.bytesRemaining == 7 && api.secondsRemaining == nil)
    }
}
