import AgentCore
import AgentModel
import AppProtocol
import Connectivity
import Failover
import Hotspots
import Linux

/// Checks the connectivity of networks. Runs the checks that `ConnectivityState` requests, keeps the connections to the
/// targets and returns the results. Makes no decisions.
@AgentLoop
final class ConnectivityMonitor {
    /// Functions and networks for the checks. Each function returns within its limit.
    struct Dependencies: Sendable {
        var validateOnline: (@Sendable (InterfaceNetwork, Duration) async -> ValidationCheck)?
        /// Returns the URL of the captive portal API (RFC 8908) from DHCP or a router; nil if neither sent one.
        var findPortal: @Sendable (InterfaceNetwork, Duration) async -> String?
        var askPortal: @Sendable (_ url: String, InterfaceNetwork, Duration) async -> CaptiveCheck
        /// Returns true if the gateway answers, or if there is no gateway.
        var askGateway: @AgentLoop @Sendable (InterfaceNetwork, Duration) async -> Bool
        var wifi: InterfaceNetwork
        var unbound: InterfaceNetwork
        var now: @Sendable () -> Instant = { .now }
    }

    struct Callbacks {
        var policy: (PolicyEvent) -> Void = { _ in }
        var publish: (Event.Body) -> Void = { _ in }
        /// Called after an event was handled with all its effects, for tests.
        var handled: () -> Void = {}
        var changed: () -> Void = {}
        var problem: (String?) -> Void = { _ in }
        var remember: ([RememberedProvider]) -> Void = { _ in }
        /// Returns the network in use, as hotspot providers need it; nil if the network is unknown.
        var joinedNetwork: () -> (JoinedNetwork, NetworkName)? = { nil }
        var network: (StationID) -> InterfaceNetwork? = { _ in nil }
    }

    private(set) var dependencies: Dependencies
    var callbacks = Callbacks()
    private(set) var targets: [WatchedTarget] = []
    private(set) var hotspots: (any SignInService)?
    private(set) var state: ConnectivityState
    /// Running log-off of the hotspot provider; nil if none is running. The next join waits for it.
    private(set) var farewell: Task<Void, Never>?
    /// Network of the link that may be used next, with its own connections to the targets.
    private var beside: (network: InterfaceNetwork, targets: [WatchedTarget])?
    private var questions: [ReachQuestionID: Task<Void, Never>] = [:]
    private var timer: (moment: Instant, timer: LoopTimer)?

    init(required: ReachLevel, dependencies: Dependencies, budget: QuestionBudget.Limits) {
        self.dependencies = dependencies
        var settings = ConnectivityState.Settings(
            required: required, hasSource: dependencies.validateOnline != nil, hasProviders: false)
        settings.evaluateLimit = HotspotSettings().evaluateLimit + .seconds(1)
        state = ConnectivityState(settings, budget: budget, at: ClockReading(instant: dependencies.now(), time: .now))
    }

    /// Sets the targets and the sign-in service. Call this before all other functions.
    func watch(_ targets: [WatchedTarget], signingInBy hotspots: (any SignInService)?) {
        self.targets = targets
        self.hotspots = hotspots
        state.settings.hasProviders = hotspots != nil
        targets.forEach(listen)
    }

    private func listen(to target: WatchedTarget) {
        target.onWord = { [weak self] target, word in
            switch word {
            case .changed: self?.changed(target)
            case .doubted: self?.doubted(target)
            }
        }
    }

    /// Replaces the targets. A target in both lists keeps its connection.
    func replace(_ new: [WatchedTarget], required: ReachLevel) {
        for target in targets where !new.contains(where: { $0 === target }) {
            target.cancel()
            callbacks.publish(.targetChanged(target.snapshot.report(at: clock)))
        }
        let kept = targets.filter { target in new.contains { $0 === target } }.map(\.name)
        targets = new
        for target in new where !kept.contains(target.name) {
            listen(to: target)
            callbacks.publish(.targetChanged(target.snapshot.report(at: clock)))
            if let network { target.follow(network, isMetered: state.isMetered) }
        }
        if let beside { followBeside(beside.network) }
        handle(.retargeted(required: required, kept: Set(kept)))
    }

    /// Sets the time limits of checks, for tests.
    func wait(forCheck limit: Duration, headStart: Duration) {
        (state.settings.checkLimit, state.settings.headStart) = (limit, headStart)
    }

    func stop() async {
        handle(.leaveSuccessor)
        handle(.follow(.none))
        await hotspots?.shutDown()
    }

    // MARK: Events

    func follow(_ path: TrafficPath, isMetered: Bool = false) { handle(.follow(path, isMetered: isMetered)) }
    /// Checks the network and reports the result within `limit`. A check that takes longer counts as failed.
    func probe(epoch: UInt64, within limit: Duration) { handle(.probe(epoch: epoch, within: limit)) }
    func changed(_ target: WatchedTarget) { handle(.targetChanged(.inUse, target.name)) }
    func doubted(_ target: WatchedTarget) { handle(.targetDoubted(target.name)) }
    func signInChanged(to status: HotspotStatus) { handle(.signIn(SignInStatus(status))) }
    func logOff() { handle(.logOff) }

    func use(_ wifi: InterfaceNetwork) { dependencies.wifi = wifi }

    func handle(_ event: ConnectivityEvent) {
        refreshTargets()
        for effect in state.handle(event, at: clock) { perform(effect) }
        plan()
        callbacks.handled()
    }

    private var clock: ClockReading { ClockReading(instant: dependencies.now(), time: .now) }

    private func refreshTargets() {
        _ = state.handle(
            .targets(inUse: targets.map(\.snapshot), beside: beside?.targets.map(\.snapshot) ?? []), at: clock)
    }

    private func plan() {
        guard let next = state.nextWake else { return timer = nil }
        guard timer?.moment != next else { return }
        timer = (
            next,
            LoopTimer(after: next - dependencies.now()) { [weak self] in
                self?.timer = nil
                self?.handle(.timer)
            }
        )
    }

    // MARK: Orders

    private func perform(_ effect: ConnectivityEffect) {
        switch effect {
        case .ask(let id, let question, let side, let limit): sendQuestion(id, question, side, within: limit)
        case .cancel(let ids): for id in ids { questions.removeValue(forKey: id)?.cancel() }
        case .follow: follow(through: network)
        case .followBeside(let station): followBeside(station.flatMap(callbacks.network))
        case .forgetNames:
            dependencies.wifi.forget()
            dependencies.unbound.forget()
        case .sendToPolicy(let event): callbacks.policy(event)
        case .publish(let event): callbacks.publish(event)
        case .changed: callbacks.changed()
        case .problem(let problem): callbacks.problem(problem)
        case .captiveFound:
            if let (network, name) = callbacks.joinedNetwork() { hotspots?.captiveFound(network, name: name) }
        case .sessionEnds:
            if let (network, name) = callbacks.joinedNetwork() { hotspots?.sessionEnds(network, name: name) }
        case .onlineFound:
            if let (network, name) = callbacks.joinedNetwork() { hotspots?.onlineFound(network, name: name) }
        case .offlineFound:
            if let (network, name) = callbacks.joinedNetwork() { hotspots?.offlineFound(network, name: name) }
        case .networkLeft: hotspots?.networkLeft()
        case .logOff:
            farewell = Task { [weak self, hotspots] in
                await hotspots?.logOff()
                self?.handle(.loggedOff)
                self?.farewell = nil
            }
        }
    }

    var network: InterfaceNetwork? {
        switch state.path {
        case .none: nil
        case .wifi: dependencies.wifi
        case .other: dependencies.unbound
        }
    }

    private func follow(through network: InterfaceNetwork?) {
        for target in targets {
            target.follow(network, isMetered: state.isMetered)
            // A disconnected target does not report its change, so report it here.
            if network == nil { callbacks.publish(.targetChanged(target.snapshot.report(at: clock))) }
        }
    }

    private func followBeside(_ network: InterfaceNetwork?) {
        for target in beside?.targets ?? [] { target.follow(nil) }
        beside = nil
        guard let network else { return }
        network.forget()
        let twins = targets.map { $0.twin() }
        beside = (network, twins)
        for target in twins {
            target.onWord = { [weak self] target, _ in self?.handle(.targetChanged(.beside, target.name)) }
            target.follow(network)
        }
    }

    private func sendQuestion(
        _ id: ReachQuestionID, _ question: ReachQuestion, _ side: LinkSide, within limit: Duration
    ) {
        // An event in between may have cancelled the question.
        guard state.isAsking(id) else { return }
        let network = side == .inUse ? network : beside?.network
        let targets = side == .inUse ? targets : beside?.targets ?? []
        questions[id] = AgentLoop.begin { [weak self, dependencies] in
            let answer = await dependencies.answer(to: question, network, targets, within: limit)
            self?.questions[id] = nil
            self?.handle(.answer(id, answer))
        }
        // The answer may have arrived before the task was stored.
        if !state.isAsking(id) { questions[id] = nil }
    }

    // MARK: Findings

    var connectivity: Connectivity {
        refreshTargets()
        return state.connectivity(at: clock)
    }

    var verdict: ReachVerdict? { state.verdict }
    /// Last answer of the captive portal API, while it is valid.
    var portalState: CaptiveState? { state.portalState(at: dependencies.now()) }
    var portalStatus: PortalStatus { state.portalStatus(at: dependencies.now()) }

    func spendQuestion(for purpose: QuestionBudget.Purpose) -> Bool {
        state.spend(for: purpose, at: dependencies.now())
    }
    func spent(bytes count: Int, for purpose: QuestionBudget.Purpose) { state.spent(bytes: count, for: purpose) }

    func answer(_ answer: PortalAnswer) throws(ProtocolError) -> PortalStatus {
        guard let hotspots, portalStatus.request?.id == answer.id else {
            throw ProtocolError(.unknownPortal, "no sign-in is waiting for an answer")
        }
        do throws(PortalAnswerRefusal) { try hotspots.answer(answer) } catch { throw ProtocolError(error) }
        return portalStatus
    }
}

extension ConnectivityMonitor.Dependencies {
    func answer(
        to question: ReachQuestion, _ network: InterfaceNetwork?, _ targets: [WatchedTarget], within limit: Duration
    ) async -> ReachAnswer {
        if case .target(let name) = question {
            return .target(await targets.first { $0.name == name }?.probe(limit) ?? nil)
        }
        switch (question, network) {
        case (.source, let network?):
            guard let look = await validateOnline?(network, limit) else { break }
            return .source(look.finding, cost: look.cost)
        case (.gateway, let network?): return .gateway(await askGateway(network, limit))
        case (.portalAddress, let network?): return .portalAddress(await findPortal(network, limit))
        case (.portal(let url), let network?):
            let look = await askPortal(url, network, limit)
            return .portal(try? look.result.get(), cost: look.cost)
        case (_, _): break
        }
        return switch question {
        case .target: .target(.noAddress)
        case .source: .source(.failed(.noAddress), cost: 0)
        case .gateway: .gateway(false)
        case .portalAddress: .portalAddress(nil)
        case .portal: .portal(nil, cost: 0)
        }
    }
}

extension SignInStatus {
    fileprivate init(_ status: HotspotStatus) {
        self.init()
        (portal, request, problem) = (status.portal, status.request, status.problem)
        (signingInUntil, isTryingWhereCaptive) = (status.signingInUntil, status.isTryingWhereCaptive)
    }
}

extension ProtocolError {
    /// Creates the error for a refused answer. Omits the name of an unknown field, which may be a password.
    fileprivate init(_ refusal: PortalAnswerRefusal) {
        switch refusal {
        case .notAsked: self.init(.unknownPortal, "this sign-in is no longer waiting for an answer")
        case .unknownField: self = .values("one of the values is for an unknown field")
        case .missingField(let name): self = .values("the value of \(name) is required")
        case .invalidValue(let name): self = .values("the value of \(name) is invalid")
        }
    }

    private static func values(_ message: String) -> ProtocolError {
        ProtocolError(.malformed, message).about("body.values")
    }
}
