import AgentCore
import AgentModel
import AppProtocol
import Connectivity
import Failover
import Hotspots
import Linux
import NIOPosix
import Synchronization
import TestTime
import Testing

@testable import Agent

/// The watch over a sign-in and over the network's word about itself. World and providers are fakes.
@AgentLoop @Suite struct SignInWatchTests {
    private static let portal = "https://portal.example/"
    private static let closed = CaptiveState(isCaptive: true, userPortal: portal)
    private static let open = CaptiveState(isCaptive: false, secondsRemaining: 600, bytesRemaining: 9000)

    @Test func aLoginPageIsForAProviderThatCanSignIn() async throws {
        let desk = SignInDesk(source: .captive(portal: "http://10.0.0.1/"))
        guard case .signingIn(epoch: 1, _) = await desk.probe() else {
            Issue.record("\(desk.told)")
            return
        }
        #expect(desk.service.calls == ["left", "captive Cafe"])
    }

    /// No provider will try: the verdict is there at once.
    @Test func withoutAProviderItIsCaptiveAtOnce() async throws {
        let desk = SignInDesk(source: .captive(portal: nil))
        var status = HotspotStatus()
        status.isTryingWhereCaptive = false
        desk.watch.signInChanged(to: status)
        #expect(await desk.probe() == .probed(epoch: 1, .captive))
        #expect(desk.service.calls.last == "captive Cafe", "the facts may be others by now")
    }

    @Test func whereItIsOpenTheProviderIsBelieved() async throws {
        let desk = SignInDesk(source: .online)
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        #expect(desk.service.calls == ["left", "online"])
    }

    /// The old word says captive, and would make a liar of an honest provider.
    @Test func afterASignInTheNetworkIsAskedAnew() async throws {
        let desk = SignInDesk(source: nil, api: Self.closed, required: .lan)
        _ = await desk.probe()
        #expect(desk.world.apiQuestions.load(ordering: .relaxed) == 1)
        desk.world.api.withLock { $0 = .success(Self.open) }
        let event = await desk.next { desk.watch.signInChanged(to: desk.authenticated) }
        #expect(event == .probed(epoch: 1, .online))
        #expect(desk.world.apiQuestions.load(ordering: .relaxed) == 2)
        #expect(desk.watch.connectivity.portal?.secondsRemaining == 600)
        #expect(desk.watch.connectivity.portal?.bytesRemaining == 9000)
        #expect(desk.service.calls.last == "online")
    }

    @Test func aProviderThatOnlySaysSoIsToldOfTheLoginPage() async throws {
        let desk = SignInDesk(source: .captive(portal: nil), api: Self.closed)
        let event = await desk.next { desk.watch.signInChanged(to: desk.authenticated) }
        #expect(event == .probed(epoch: 1, .captive))
        #expect(desk.service.calls.last == "captive Cafe")
    }

    @Test func whatRemainsIsCountedDown() async throws {
        let desk = SignInDesk(source: .online, api: Self.open)
        _ = await desk.probe()
        desk.watch.signInChanged(to: desk.authenticated)
        _ = await desk.probe()
        try await desk.apiAnswers()
        desk.clock.pass(.seconds(100))
        #expect(desk.watch.connectivity.portal?.secondsRemaining == 500)
    }

    /// One probe after the other, and the API does not answer: it is asked once, and its failure wipes nothing.
    @Test func anAPIThatFailsIsNotAskedWithEachProbe() async throws {
        let desk = SignInDesk(source: .online, api: nil)
        for _ in 1...20 {
            _ = await desk.probe()
            try await desk.apiAnswers()
        }
        #expect(desk.world.apiQuestions.load(ordering: .relaxed) == 1)
    }

    /// Without any probe: the timer is its own.
    @Test func aNetworkThatClosesIsADoubt() async throws {
        let desk = SignInDesk(source: .online, api: Self.open)
        #expect(await desk.probe() == .probed(epoch: 1, .online))
        try await desk.apiAnswers()
        desk.world.api.withLock { $0 = .success(Self.closed) }
        desk.clock.pass(.seconds(600))
        let event = await desk.next { desk.watch.handle(.askPortalAnew) }
        #expect(event == .doubted(epoch: 1))
    }

    @Test func anEndThatCanBePutOffIsToldToTheProvider() async throws {
        var short = Self.open
        (short.secondsRemaining, short.canExtendSession, short.userPortal) = (100, true, Self.closed.userPortal)
        let desk = SignInDesk(source: .online, api: short)
        _ = await desk.probe()
        try await desk.apiAnswers()
        #expect(desk.service.calls.contains("ends Cafe"))
    }

    @Test func aRequestIsPublishedAndItsAnswerPassedOn() throws {
        let desk = SignInDesk(source: .captive(portal: nil))
        var status = HotspotStatus()
        status.portal.state = .presentingUI
        status.request = desk.request(7)
        desk.watch.signInChanged(to: status)
        #expect(desk.published == [.portalRequest(desk.request(7))])
        #expect(desk.watch.portalStatus.request?.id == 7)
        for wrong in [6, 8] {
            #expect(throws: ProtocolError.self) { try desk.watch.answer(PortalAnswer(id: wrong, values: nil)) }
        }
        _ = try desk.watch.answer(PortalAnswer(id: 7, values: nil))
        #expect(desk.service.calls.last == "answer 7")
        status.request = desk.request(8)
        desk.watch.signInChanged(to: status)
        status.request = nil
        desk.watch.signInChanged(to: status)
        #expect(
            desk.published.dropFirst() == [
                .portalEnded(PortalEnded(id: 7)), .portalRequest(desk.request(8)), .portalEnded(PortalEnded(id: 8)),
            ])
    }

    @Test func whatWentWrongIsToldOnceAndShown() throws {
        let desk = SignInDesk(source: .captive(portal: nil))
        var status = HotspotStatus()
        status.problem = "cafe: it ended before it answered"
        desk.watch.signInChanged(to: status)
        status.retryAt = .now
        desk.watch.signInChanged(to: status)
        #expect(desk.problems == ["cafe: it ended before it answered"])
        #expect(desk.watch.portalStatus.problem == "cafe: it ended before it answered")
    }

    // MARK: Leaving

    @Test func theProviderLogsOffBeforeTheLinkGoes() async throws {
        let desk = SignInDesk(source: .online)
        desk.watch.signInChanged(to: desk.authenticated)
        desk.watch.logOff()
        let farewell = try #require(desk.watch.farewell)
        desk.watch.logOff()
        desk.watch.follow(.none)
        desk.watch.signInChanged(to: HotspotStatus())
        await farewell.value
        #expect(desk.service.calls.suffix(2) == ["log off", "left"], "in this order, and once each")
        #expect(desk.watch.farewell == nil)
    }

    @Test func withoutASignInNothingWaits() throws {
        let desk = SignInDesk(source: .online)
        desk.watch.logOff()
        #expect(desk.watch.farewell == nil)
        desk.watch.signInChanged(to: desk.authenticated)
        desk.watch.follow(.none)
        desk.watch.logOff()
        #expect(desk.watch.farewell == nil, "the link is gone already")
        #expect(!desk.service.calls.contains("log off"))
    }
}

/// A watch on the Wi-Fi link with the epoch 1, with a fake world and a fake host of providers.
@AgentLoop
final class SignInDesk {
    let watch: ConnectivityMonitor
    let world: World
    let service: NotedSignIn
    let clock = Clock()
    private(set) var told: [PolicyEvent] = []
    private(set) var published: [Event.Body] = []
    private(set) var problems: [String] = []
    private var waiting: CheckedContinuation<PolicyEvent, Never>?
    private let isAskingPortal = Observed(false)

    final class World: Sendable {
        let source: Mutex<ValidationFinding?>
        let api: Mutex<Result<CaptiveState, CaptivePortalFailure>>
        let apiQuestions = Atomic(0)

        init(_ source: ValidationFinding?, _ api: CaptiveState?) {
            self.source = Mutex(source)
            self.api = Mutex(api.map { .success($0) } ?? .failure(.status(404)))
        }

        func ask() -> CaptiveCheck {
            apiQuestions.add(1, ordering: .relaxed)
            return CaptiveCheck(result: api.withLock { $0 }, cost: 1000)
        }
    }

    init(
        source: ValidationFinding?, api: CaptiveState? = nil, required: ReachLevel = .internet,
        signingInBy real: (any SignInService)? = nil
    ) {
        service = NotedSignIn()
        let group = MultiThreadedEventLoopGroup.singleton
        let world = World(source, api)
        self.world = world
        let look: @Sendable (InterfaceNetwork, Duration) async -> ValidationCheck = { _, _ in
            ValidationCheck(finding: world.source.withLock { $0 } ?? .failed(.timedOut), cost: 1000)
        }
        watch = ConnectivityMonitor(
            required: required,
            means: ConnectivityMonitor.Means(
                validateOnline: source == nil ? nil : look,
                findPortal: { _, _ in "https://api.example/" }, askPortal: { _, _, _ in world.ask() },
                askGateway: { _, _ in true }, wifi: InterfaceNetwork(interface: "wlan9", on: group),
                unbound: InterfaceNetwork(interface: nil, on: group), now: { [clock] in clock.now }),
            budget: QuestionBudget.Limits())
        watch.wait(forCheck: ReachDesk.ever, headStart: ReachDesk.ever)
        watch.watch([], signingInBy: real ?? service)
        watch.listeners = ConnectivityMonitor.Listeners(
            policy: { [unowned self] event in
                told.append(event)
                waiting?.resume(returning: event)
                waiting = nil
            }, publish: { [unowned self] in published.append($0) },
            handled: { [unowned self] in
                isAskingPortal.change { $0 = watch.state.isAskingPortal(at: clock.now) }
            },
            problem: { [unowned self] in if let problem = $0 { problems.append(problem) } },
            captiveNetwork: { Self.network })
        watch.follow(.wifi(epoch: 1))
    }

    static var network: (CaptiveNetwork, NetworkName)? {
        guard let ssid = try? SSID("Cafe") else { return nil }
        return (
            CaptiveNetwork(ssid: ssid, security: .open, interface: "wlan9"), NetworkName(ssid: ssid, hash: nil)
        )
    }

    var authenticated: HotspotStatus {
        var status = HotspotStatus()
        status.portal.state = .authenticated
        return status
    }

    func request(_ id: Int) -> PortalRequest {
        guard let (_, name) = Self.network else { preconditionFailure("no SSID") }
        return PortalRequest(id: id, provider: "cafe", network: name, title: "Sign in", message: "", fields: [])
    }

    /// The next event for the policy.
    func next(_ action: () -> Void) async -> PolicyEvent {
        await withCheckedContinuation { continuation in
            waiting = continuation
            action()
        }
    }

    /// A probe does not wait for what the network says of itself where nothing depends on it.
    func apiAnswers() async throws { try await isAskingPortal.wait("the network's own word") { !$0 } }

    func probe() async -> PolicyEvent { await next { watch.probe(epoch: 1, within: ReachDesk.ever) } }
}

final class NotedSignIn: SignInService {
    let status = HotspotStatus()
    private let noted = Mutex<[String]>([])
    private let claims: @Sendable ([ScannedHotspot]) async -> [BSSID: [String]]

    init(claims: @escaping @Sendable ([ScannedHotspot]) async -> [BSSID: [String]] = { _ in [:] }) {
        self.claims = claims
    }

    var calls: [String] { noted.withLock { $0 } }

    private func note(_ call: String) { noted.withLock { $0.append(call) } }

    func captiveFound(_ network: CaptiveNetwork, name: NetworkName) { note("captive \(network.ssid)") }
    func onlineFound(_ network: CaptiveNetwork, name: NetworkName) { note("online") }
    func sessionEnds(_ network: CaptiveNetwork, name: NetworkName) { note("ends \(network.ssid)") }
    func logOff() async { note("log off") }
    func networkLeft() { note("left") }
    func answer(_ answer: PortalAnswer) throws(PortalAnswerRefusal) { note("answer \(answer.id)") }
    func filter(_ networks: [ScannedHotspot]) async -> [BSSID: [String]] { await claims(networks) }
    func shutDown() async {}
    func providers() async throws(ProviderFault) -> [String] { ["cafe", "hotel"] }
    var switchedOff: Set<String> {
        get { off.withLock { $0 } }
        set { off.withLock { $0 = newValue } }
    }
    private let off = Mutex<Set<String>>([])
}
