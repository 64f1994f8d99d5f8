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
        let bench = SignInFixture(source: .captive(portal: "http://10.0.0.1/"))
        guard case .signingIn(epoch: 1, _) = await bench.probe() else {
            Issue.record("\(bench.policyEvents)")
            return
        }
        #expect(bench.service.calls == ["left", "captive Cafe"])
    }

    /// No provider will try: the verdict is there at once.
    @Test func withoutAProviderItIsCaptiveAtOnce() async throws {
        let bench = SignInFixture(source: .captive(portal: nil))
        var status = HotspotStatus()
        status.isTryingWhereCaptive = false
        bench.watch.signInChanged(to: status)
        #expect(await bench.probe() == .probed(epoch: 1, .captive))
        #expect(bench.service.calls.last == "captive Cafe", "the facts may be others by now")
    }

    @Test func whereItIsOpenTheProviderIsBelieved() async throws {
        let bench = SignInFixture(source: .online)
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        #expect(bench.service.calls == ["left", "online"])
    }

    /// The old word says captive, and would make a liar of an honest provider.
    @Test func afterASignInTheNetworkIsAskedAnew() async throws {
        let bench = SignInFixture(source: nil, api: Self.closed, required: .lan)
        _ = await bench.probe()
        #expect(bench.world.apiQuestions.load(ordering: .relaxed) == 1)
        bench.world.api.withLock { $0 = .success(Self.open) }
        let event = await bench.next { bench.watch.signInChanged(to: bench.authenticated) }
        #expect(event == .probed(epoch: 1, .online))
        #expect(bench.world.apiQuestions.load(ordering: .relaxed) == 2)
        #expect(bench.watch.connectivity.portal?.secondsRemaining == 600)
        #expect(bench.watch.connectivity.portal?.bytesRemaining == 9000)
        #expect(bench.service.calls.last == "online")
    }

    @Test func aProviderThatOnlySaysSoIsToldOfTheLoginPage() async throws {
        let bench = SignInFixture(source: .captive(portal: nil), api: Self.closed)
        let event = await bench.next { bench.watch.signInChanged(to: bench.authenticated) }
        #expect(event == .probed(epoch: 1, .captive))
        #expect(bench.service.calls.last == "captive Cafe")
    }

    @Test func whatRemainsIsCountedDown() async throws {
        let bench = SignInFixture(source: .online, api: Self.open)
        _ = await bench.probe()
        bench.watch.signInChanged(to: bench.authenticated)
        _ = await bench.probe()
        try await bench.apiAnswers()
        bench.clock.pass(.seconds(100))
        #expect(bench.watch.connectivity.portal?.secondsRemaining == 500)
    }

    /// One probe after the other, and the API does not answer: it is asked once, and its failure wipes nothing.
    @Test func anAPIThatFailsIsNotAskedWithEachProbe() async throws {
        let bench = SignInFixture(source: .online, api: nil)
        for _ in 1...20 {
            _ = await bench.probe()
            try await bench.apiAnswers()
        }
        #expect(bench.world.apiQuestions.load(ordering: .relaxed) == 1)
    }

    /// Without any probe: the timer is its own.
    @Test func aNetworkThatClosesIsADoubt() async throws {
        let bench = SignInFixture(source: .online, api: Self.open)
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        try await bench.apiAnswers()
        bench.world.api.withLock { $0 = .success(Self.closed) }
        bench.clock.pass(.seconds(600))
        let event = await bench.next { bench.watch.handle(.askPortalAnew) }
        #expect(event == .doubted(epoch: 1))
    }

    @Test func anEndThatCanBePutOffIsToldToTheProvider() async throws {
        var short = Self.open
        (short.secondsRemaining, short.canExtendSession, short.userPortal) = (100, true, Self.closed.userPortal)
        let bench = SignInFixture(source: .online, api: short)
        _ = await bench.probe()
        try await bench.apiAnswers()
        #expect(bench.service.calls.contains("ends Cafe"))
    }

    @Test func aRequestIsPublishedAndItsAnswerPassedOn() throws {
        let bench = SignInFixture(source: .captive(portal: nil))
        var status = HotspotStatus()
        status.portal.state = .presentingUI
        status.request = bench.request(7)
        bench.watch.signInChanged(to: status)
        #expect(bench.published == [.portalRequest(bench.request(7))])
        #expect(bench.watch.portalStatus.request?.id == 7)
        for wrong in [6, 8] {
            #expect(throws: ProtocolError.self) { try bench.watch.answer(PortalAnswer(id: wrong, values: nil)) }
        }
        _ = try bench.watch.answer(PortalAnswer(id: 7, values: nil))
        #expect(bench.service.calls.last == "answer 7")
        status.request = bench.request(8)
        bench.watch.signInChanged(to: status)
        status.request = nil
        bench.watch.signInChanged(to: status)
        #expect(
            bench.published.dropFirst() == [
                .portalEnded(PortalEnded(id: 7)), .portalRequest(bench.request(8)), .portalEnded(PortalEnded(id: 8)),
            ])
    }

    @Test func whatWentWrongIsToldOnceAndShown() throws {
        let bench = SignInFixture(source: .captive(portal: nil))
        var status = HotspotStatus()
        status.problem = "cafe: it ended before it answered"
        bench.watch.signInChanged(to: status)
        status.retryAt = .now
        bench.watch.signInChanged(to: status)
        #expect(bench.problems == ["cafe: it ended before it answered"])
        #expect(bench.watch.portalStatus.problem == "cafe: it ended before it answered")
    }

    // MARK: Leaving

    @Test func theProviderLogsOffBeforeTheLinkGoes() async throws {
        let bench = SignInFixture(source: .online)
        bench.watch.signInChanged(to: bench.authenticated)
        bench.watch.logOff()
        let farewell = try #require(bench.watch.farewell)
        bench.watch.logOff()
        bench.watch.follow(.none)
        bench.watch.signInChanged(to: HotspotStatus())
        await farewell.value
        #expect(bench.service.calls.suffix(2) == ["log off", "left"], "in this order, and once each")
        #expect(bench.watch.farewell == nil)
    }

    @Test func withoutASignInNothingWaits() throws {
        let bench = SignInFixture(source: .online)
        bench.watch.logOff()
        #expect(bench.watch.farewell == nil)
        bench.watch.signInChanged(to: bench.authenticated)
        bench.watch.follow(.none)
        bench.watch.logOff()
        #expect(bench.watch.farewell == nil, "the link is gone already")
        #expect(!bench.service.calls.contains("log off"))
    }
}

/// A watch on the Wi-Fi link with the epoch 1, with a fake world and a fake host of providers.
@AgentLoop
final class SignInFixture {
    let watch: ConnectivityMonitor
    let world: World
    let service: NotedSignIn
    let clock = Clock()
    private(set) var policyEvents: [PolicyEvent] = []
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
            dependencies: ConnectivityMonitor.Dependencies(
                validateOnline: source == nil ? nil : look,
                findPortal: { _, _ in "https://api.example/" }, askPortal: { _, _, _ in world.ask() },
                askGateway: { _, _ in true }, wifi: InterfaceNetwork(interface: "wlan9", on: group),
                unbound: InterfaceNetwork(interface: nil, on: group), now: { [clock] in clock.now }),
            budget: QuestionBudget.Limits())
        watch.wait(forCheck: ProbeBench.ever, headStart: ProbeBench.ever)
        watch.watch([], signingInBy: real ?? service)
        watch.callbacks = ConnectivityMonitor.Callbacks(
            policy: { [unowned self] event in
                policyEvents.append(event)
                waiting?.resume(returning: event)
                waiting = nil
            }, publish: { [unowned self] in published.append($0) },
            handled: { [unowned self] in
                isAskingPortal.change { $0 = watch.state.isAskingPortal(at: clock.now) }
            },
            problem: { [unowned self] in if let problem = $0 { problems.append(problem) } },
            joinedNetwork: { Self.network })
        watch.follow(.wifi(epoch: 1))
    }

    static var network: (JoinedNetwork, NetworkName)? {
        guard let ssid = try? SSID("Cafe") else { return nil }
        return (
            JoinedNetwork(ssid: ssid, security: .open, interface: "wlan9"), NetworkName(ssid: ssid, hash: nil)
        )
    }

    var authenticated: HotspotStatus {
        var status = HotspotStatus()
        status.portal = Portal(state: .authenticated, provider: "cafe")
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

    func probe() async -> PolicyEvent { await next { watch.probe(epoch: 1, within: ProbeBench.ever) } }
}

final class NotedSignIn: SignInService {
    let status = HotspotStatus()
    private let noted = Mutex<[String]>([])
    private let claims: @Sendable ([ScannedHotspot]) async -> [BSSID: [String]]

    init(claims: @escaping @Sendable ([ScannedHotspot]) async -> [BSSID: [String]] = { _ in [:] }) {
        self.claims = claims
    }

    var calls: [String] { noted.withLock { $0 } }

    private func record(_ call: String) { noted.withLock { $0.append(call) } }

    func captiveFound(_ network: JoinedNetwork, name: NetworkName) { record("captive \(network.ssid)") }
    func onlineFound(_ network: JoinedNetwork, name: NetworkName) { record("online") }
    func offlineFound(_ network: JoinedNetwork, name: NetworkName) { record("offline") }
    func sessionEnds(_ network: JoinedNetwork, name: NetworkName) { record("ends \(network.ssid)") }
    func logOff() async { record("log off") }
    func networkLeft() { record("left") }
    func answer(_ answer: PortalAnswer) throws(PortalAnswerRefusal) { record("answer \(answer.id)") }
    func filter(_ networks: [ScannedHotspot]) async -> [BSSID: [String]] { await claims(networks) }
    func shutDown() async {}
    func providers() async throws(ProviderFault) -> [String] { ["cafe", "hotel"] }
    var switchedOff: Set<String> {
        get { off.withLock { $0 } }
        set { off.withLock { $0 = newValue } }
    }
    private let off = Mutex<Set<String>>([])
}
