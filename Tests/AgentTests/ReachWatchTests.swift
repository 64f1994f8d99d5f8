import AgentModel
import AppProtocol
import ConnectionMonitor
import EventLoop
import FailoverPolicy
import HotspotProviders
import InterfaceNetwork
import NIOPosix
import OnlineValidation
import Synchronization
import Testing

@testable import Agent

/// How probes are answered, and what is told unasked. The world is a fake, the watch is the real one.
@AgentLoop @Suite struct ReachWatchTests {
    @Test func aTargetThatWasHeardIsProofWithoutTraffic() async throws {
        let desk = Desk(.target, source: .online, targets: ["broker.example"])
        desk.targets[0].become(.ready)
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        #expect(desk.questions == 0, "neither the source nor the gateway was asked")
        #expect(desk.watch.connectivity.level == .target && desk.watch.connectivity.internet == .yes)
    }

    @Test func aSilentTargetIsAFailureThatTheRestExplains() async throws {
        let desk = Desk(.target, source: .failed(.nameServerSilent), targets: ["broker.example"])
        desk.targets[0].answer = .timedOut
        #expect(await desk.probe() == .probed(epoch: 1, .failed))
        #expect(desk.watch.connectivity.problem == .nameServerSilent)
        #expect(desk.watch.connectivity.internet == .no)
    }

    @Test func aServerThatRefusesIsNoReasonToLeaveItsNetwork() async throws {
        let desk = Desk(.target, source: .online, targets: ["broker.example"])
        desk.targets[0].answer = .connectionRefused
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        #expect(desk.watch.connectivity.problem == .connectionRefused)
    }

    @Test(arguments: [(true, ProbeResult.online), (false, .failed)])
    func withoutAnythingElseTheGatewayIsAsked(answers: Bool, result: ProbeResult) async throws {
        let desk = Desk(.lan, gateway: answers)
        #expect(await desk.probe() == .probed(epoch: 1, result))
    }

    @Test func withoutProvidersALoginPageIsTheVerdict() async throws {
        let desk = Desk(.internet, source: .captive(portal: "http://portal.example/"))
        #expect(await desk.probe() == .probed(epoch: 1, .captive))
        #expect(desk.watch.connectivity.portal?.url == "http://portal.example/")
    }

    @Test func nothingIsToldWithoutAChange() async throws {
        let desk = Desk(.internet, source: .online)
        _ = await desk.probe()
        let changes = desk.changes
        for _ in 1...5 { _ = await desk.probe() }
        #expect(desk.changes == changes)
        desk.world.finding.withLock { $0 = .failed(.timedOut) }
        _ = await desk.probe()
        #expect(desk.changes == changes + 1)
    }

    @Test func theBudgetBoundsWhatTheSourceIsAsked() async throws {
        let desk = Desk(.internet, source: .online)
        for _ in 1...600 { _ = await desk.probe() }
        #expect((480...485).contains(desk.questions))
        #expect(await desk.probe() == .probed(epoch: 1, .online), "the last finding stands")
    }

    @Test func aConnectionThatBrokeIsADoubtUnlessAnotherLives() throws {
        let desk = Desk(.target, targets: ["broker.example", "app.example"])
        desk.targets[1].become(.ready)
        desk.targets[0].become(.failed, .timedOut)
        desk.watch.doubted(desk.watch.targets[0])
        #expect(desk.told.isEmpty)
        desk.targets[1].become(.failed, .timedOut)
        desk.watch.doubted(desk.watch.targets[1])
        #expect(desk.told == [.doubted(epoch: 1)])
        #expect(desk.published == 0)
    }

    @Test func aTargetThatIsBackIsToldAtOnce() throws {
        let desk = Desk(.target, targets: ["broker.example"])
        desk.targets[0].become(.ready)
        desk.watch.changed(desk.watch.targets[0])
        #expect(desk.told == [.probed(epoch: 1, .online)])
        #expect(desk.published == 1)
    }

    @Test func aTargetThatIsBackRaisesTheLevelAtOnce() async throws {
        let desk = Desk(.target, source: .online, targets: ["broker.example"])
        desk.targets[0].answer = .connectionRefused
        _ = await desk.probe()
        #expect(desk.watch.connectivity.level == .internet)
        desk.targets[0].become(.ready)
        desk.watch.changed(desk.watch.targets[0])
        #expect(desk.watch.connectivity.level == .target && desk.watch.connectivity.problem == nil)
        #expect(desk.watch.connectivity.internet == .yes)
        #expect(desk.changes == 2, "the refusal and the end of it")
    }

    /// Nobody looked there yet, and nothing more is asked.
    @Test func theFirstTargetThatIsReadySaysHowFarTheNetworkLeads() throws {
        let desk = Desk(.lan, targets: ["192.168.1.5"])
        desk.targets[0].become(.ready)
        desk.watch.changed(desk.watch.targets[0])
        #expect(desk.watch.connectivity.level == .target && desk.watch.connectivity.internet == .unknown)
        #expect(desk.questions == 0)
        desk.watch.follow(.none)
        desk.watch.changed(desk.watch.targets[0])
        #expect(desk.watch.connectivity.level == nil)
        desk.watch.follow(.wifi(epoch: 2))
        #expect(desk.watch.connectivity.level == .link, "it was another network that led there")
    }

    /// It was asked, did not answer, and has come meanwhile.
    @Test func aTargetThatComesDuringAProbeCounts() async throws {
        let desk = Desk(.target, source: .online, targets: ["broker.example"])
        desk.targets[0].answer = .timedOut
        desk.targets[0].becomesReadyWhenProbed = true
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        #expect(desk.watch.connectivity.level == .target)
    }

    /// A connection that is there but does not answer proves nothing.
    @Test func aReadyTargetThatIsSilentDoesNotCount() async throws {
        let desk = Desk(.target, source: .failed(.timedOut), targets: ["broker.example"])
        desk.targets[0].become(.ready)
        desk.targets[0].answer = .timedOut
        #expect(await desk.probe() == .probed(epoch: 1, .failed))
        #expect(desk.watch.connectivity.level == .lan)
    }

    @Test func connectionsFollowThePath() throws {
        let desk = Desk(.target, targets: ["broker.example"])
        #expect(desk.targets[0].calls == ["restart"])
        desk.watch.follow(.wifi(epoch: 1))
        #expect(desk.targets[0].calls.count == 1, "the same path")
        desk.watch.follow(.wifi(epoch: 2))
        desk.watch.follow(.none)
        desk.watch.follow(.other(.wired))
        #expect(desk.targets[0].calls == ["restart", "restart", "suspend", "restart"])
        #expect(desk.told.isEmpty)
    }

    @Test func whatWasFoundOfAnotherPathIsDropped() async throws {
        let desk = Desk(.internet, source: .online)
        desk.watch.probe(epoch: 1, within: .seconds(3))
        desk.watch.follow(.wifi(epoch: 2))
        desk.watch.probe(epoch: 1, within: .seconds(3))
        #expect(await desk.probe(epoch: 2) == .probed(epoch: 2, .online))
        #expect(desk.told.count == 1)
    }

    @Test func aSignInMakesThePolicyWait() async throws {
        let desk = Desk(.internet, source: .captive(portal: nil))
        var status = HotspotStatus()
        status.portal.state = .authenticating
        status.signingInUntil = .now + .seconds(60)
        desk.watch.signInChanged(to: status)
        guard case .signingIn(epoch: 1, _)? = desk.told.last else {
            Issue.record("\(desk.told)")
            return
        }
        desk.world.finding.withLock { $0 = .online }
        status.portal.state = .authenticated
        #expect(await desk.next { desk.watch.signInChanged(to: status) } == .probed(epoch: 1, .online))
    }

    @Test func whereAPersonHasToSignInTheVerdictIsThere() throws {
        let desk = Desk(.internet, source: .captive(portal: nil))
        var status = HotspotStatus()
        status.portal.state = .authenticating
        status.signingInUntil = .now + .seconds(60)
        desk.watch.signInChanged(to: status)
        status.portal.state = .presentingUI
        desk.watch.signInChanged(to: status)
        #expect(desk.told.last == .probed(epoch: 1, .captive))
    }

    @Test func whoIsNotAskedCannotAnswer() {
        let desk = Desk(.internet, source: .captive(portal: nil))
        let answer = PortalAnswer(id: 1, values: ["password": Secret(text: "hunter2")])
        let error = #expect(throws: ProtocolError.self) { try desk.watch.answer(answer) }
        #expect(!"\(String(describing: error))".contains("hunter2"))
    }

    /// However somebody prints it.
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

/// A watch with a fake world around it, on the Wi-Fi link with the epoch 1.
@AgentLoop
private final class Desk {
    let watch: ReachWatch
    let world: FakeWorld
    let targets: [FakeTarget]
    private(set) var told: [PolicyEvent] = []
    private(set) var published = 0
    private(set) var changes = 0
    private var waiting: CheckedContinuation<PolicyEvent, Never>?

    var questions: Int { world.questions.load(ordering: .relaxed) }

    init(
        _ required: ReachLevel, source finding: ValidationFinding? = nil, gateway: Bool = true,
        targets hosts: [String] = []
    ) {
        let group = MultiThreadedEventLoopGroup.singleton
        let world = FakeWorld(finding ?? .online)
        self.world = world
        targets = hosts.map(FakeTarget.init)
        let look: @Sendable (InterfaceNetwork, Duration) async -> ValidationLook = { _, _ in world.look() }
        watch = ReachWatch(
            required: required,
            means: ReachWatch.Means(
                lookOnline: finding == nil ? nil : look,
                captive: CaptiveWatch.Means(
                    find: { _, _ in nil }, ask: { _, _, _ in CaptiveLook(result: .failure(.contentType), cost: 0) }),
                askGateway: { _, _ in
                    if finding == nil || !hosts.isEmpty { world.questions.add(1, ordering: .relaxed) }
                    return gateway
                },
                wifi: InterfaceNetwork(interface: "wlan9", on: group),
                unbound: InterfaceNetwork(interface: nil, on: group)), budget: QuestionBudget())
        watch.watch(targets.map(\.watched), signingInBy: nil)
        watch.listeners = ReachWatch.Listeners(
            policy: { [unowned self] event in
                told.append(event)
                waiting?.resume(returning: event)
                waiting = nil
            }, publish: { [unowned self] _ in published += 1 }, changed: { [unowned self] in changes += 1 })
        watch.follow(.wifi(epoch: 1))
        changes = 0
    }

    /// What the policy is told next.
    func next(_ action: () -> Void) async -> PolicyEvent {
        await withCheckedContinuation { continuation in
            waiting = continuation
            action()
        }
    }

    func probe(epoch: UInt64 = 1) async -> PolicyEvent {
        await next { watch.probe(epoch: epoch, within: .seconds(3)) }
    }
}

/// What the source of validation finds, and how often anybody was asked.
private final class FakeWorld: Sendable {
    let finding: Mutex<ValidationFinding>
    let questions = Atomic(0)

    init(_ finding: ValidationFinding) { self.finding = Mutex(finding) }

    func look() -> ValidationLook {
        questions.add(1, ordering: .relaxed)
        return ValidationLook(finding: finding.withLock { $0 }, cost: 1000)
    }
}

private final class FakeTarget: Sendable {
    let host: String
    private let state = Mutex(
        (status: ConnectionStatus(state: .setup, since: .now), answer: ReachProblem?.none, calls: [String]()))
    private let readyWhenProbed = Atomic(false)

    init(_ host: String) { self.host = host }

    var answer: ReachProblem? {
        get { state.withLock { $0.answer } }
        set { state.withLock { $0.answer = newValue } }
    }
    var calls: [String] { state.withLock { $0.calls } }

    func become(_ new: ConnectionState, _ reason: ReachProblem? = nil) {
        state.withLock { $0.status = ConnectionStatus(state: new, reason: reason, since: .now) }
    }

    var becomesReadyWhenProbed: Bool {
        get { readyWhenProbed.load(ordering: .relaxed) }
        set { readyWhenProbed.store(newValue, ordering: .relaxed) }
    }

    private func probed() -> ReachProblem? {
        if becomesReadyWhenProbed { become(.ready) }
        return answer
    }

    private func note(_ call: String) { state.withLock { $0.calls.append(call) } }

    var watched: WatchedTarget {
        WatchedTarget(
            name: host, host: host, port: 1883, status: { self.state.withLock { $0.status } },
            probe: { _ in self.probed() }, restart: { _ in self.note("restart") },
            suspend: { self.note("suspend") }, cancel: {})
    }
}
