import AgentModel
import AppProtocol
import ConnectionMonitor
import EventLoop
import FailoverPolicy
import HotspotProviders
import InterfaceNetwork
import OnlineValidation

/// Knows how far the network in use leads: keeps the connections to the targets, answers the policy's probes, has somebody
/// sign in where that is wanted, and tells what changes.
///
/// Whatever is found belongs to the path it was found on; what comes late is dropped.
@AgentLoop
final class ReachWatch {
    /// Where packets go now.
    enum Path: Hashable, Sendable {
        case none
        /// The Wi-Fi link with this epoch: everything is bound to its interface.
        case wifi(epoch: UInt64)
        /// Another uplink carries the traffic, and nothing is bound.
        case other(Uplink)
    }

    /// How the world is asked. Each answers within the limit it is given.
    struct Means: Sendable {
        var lookOnline: (@Sendable (InterfaceNetwork, Duration) async -> ValidationLook)?
        /// What the network says of itself; nil where it says nothing.
        var askPortal: @Sendable (InterfaceNetwork, Duration) async -> CaptiveState?
        /// Whether the gateway answers; true where there is none.
        var askGateway: @AgentLoop @Sendable (Duration) async -> Bool
        /// The network bound to the Wi-Fi interface, and the unbound one.
        var wifi: InterfaceNetwork
        var unbound: InterfaceNetwork
    }

    /// Whom it tells.
    struct Listeners {
        var policy: (PolicyEvent) -> Void = { _ in }
        var publish: (Event.Body) -> Void = { _ in }
        /// `connectivity` is another one.
        var changed: () -> Void = {}
        /// What providers are told of the network in use; nil where that is not known.
        var captiveNetwork: () -> (CaptiveNetwork, NetworkName)? = { nil }
    }

    let required: ReachLevel
    let means: Means
    var listeners = Listeners()
    private(set) var targets: [WatchedTarget] = []
    private(set) var hotspots: Hotspots?

    private(set) var path = Path.none
    /// What was found on it last.
    private var findings: ReachFindings?
    private var checked: Timestamp?
    /// What the network said of itself last, and when to ask again.
    private var portal: (state: CaptiveState, schedule: CaptiveSchedule)?
    private var budget = ValidationBudget(at: .now)
    private var looking: Task<Void, Never>?
    private var lookTimer: LoopTimer?
    private var hotspotStatus = HotspotStatus()
    /// Whether the policy waits for what comes of a sign-in.
    private var isAwaitingSignIn = false
    private var flags: ReachabilityFlags = []

    init(required: ReachLevel, means: Means) {
        self.required = required
        self.means = means
    }

    /// Before anything else happens.
    func watch(_ targets: [WatchedTarget], signingInBy hotspots: Hotspots?) {
        self.targets = targets
        self.hotspots = hotspots
    }

    func stop() async {
        follow(.none)
        for target in targets { target.cancel() }
        await hotspots?.shutDown()
    }

    // MARK: The path

    func follow(_ new: Path) {
        guard new != path else { return }
        path = new
        looking?.cancel()
        (looking, lookTimer) = (nil, nil)
        (findings, checked, portal) = (nil, nil, nil)
        isAwaitingSignIn = false
        hotspots?.networkLeft()
        means.wifi.forget()
        means.unbound.forget()
        for target in targets {
            if let network { target.restart(network) } else { target.suspend() }
        }
        // Nobody else asks then.
        if case .other = new { lookByItself() }
        listeners.changed()
    }

    /// A join begins: what the DHCP client noted about another network says nothing of the new one.
    func willJoin(another isAnother: Bool) { means.wifi.willJoin(another: isAnother) }

    var network: InterfaceNetwork? {
        switch path {
        case .none: nil
        case .wifi: means.wifi
        case .other: means.unbound
        }
    }

    /// The state that the device is in by another uplink is looked at now and then; nothing is decided by it.
    private func lookByItself() {
        look(within: .seconds(3)) { _ in }
        lookTimer = LoopTimer(after: .seconds(60)) { [weak self] in self?.lookByItself() }
    }

    // MARK: Probes

    /// Answers in time: what is found later than that counts as not found.
    func probe(epoch: UInt64, within limit: Duration) {
        guard path == .wifi(epoch: epoch) else { return }
        look(within: Self.shortened(limit)) { [weak self] verdict in self?.answer(verdict, epoch: epoch) }
    }

    /// A little less than the policy's own limit, so that it hears why.
    private static func shortened(_ limit: Duration) -> Duration {
        max(.milliseconds(100), limit - .milliseconds(200))
    }

    private func answer(_ verdict: ReachVerdict, epoch: UInt64) {
        guard verdict.result == .captive, let hotspots, let (network, name) = listeners.captiveNetwork() else {
            if verdict.result == .online { hotspots?.onlineFound() }
            return listeners.policy(.probed(epoch: epoch, verdict.result))
        }
        let isTried = hotspotStatus.retryAt != nil || hotspotStatus.portal.state == .presentingUI
        hotspots.captiveFound(network, name: name)
        guard !isTried else { return listeners.policy(.probed(epoch: epoch, .captive)) }
        // Until it is known whether anybody signs in here.
        isAwaitingSignIn = true
        listeners.policy(.signingIn(epoch: epoch, until: .now + HotspotSettings().evaluateLimit + .seconds(1)))
    }

    private func look(within limit: Duration, then conclude: @escaping (ReachVerdict) -> Void) {
        looking?.cancel()
        let (path, early) = (path, readyTargets.map(\.name))
        looking = Task { [weak self] in
            guard let findings = await self?.askAround(within: limit), !Task.isCancelled else { return }
            self?.found(findings, on: path, besides: early, conclude)
        }
    }

    private func found(
        _ findings: ReachFindings, on path: Path, besides early: [String], _ conclude: (ReachVerdict) -> Void
    ) {
        guard path == self.path else { return }
        var findings = findings
        // Whoever was asked too early may have come since.
        findings.note(readyTargets.filter { !early.contains($0.name) })
        let verdict = ReachVerdict(findings, required: required)
        let isNews = verdict != self.verdict
        (self.findings, checked) = (findings, .now)
        if isNews { listeners.changed() }
        conclude(verdict)
    }

    /// Asks as little as will do: a target that was heard just now is proof enough.
    private func askAround(within limit: Duration) async -> ReachFindings {
        var findings = ReachFindings(portal: portal?.state)
        guard let network else { return findings }
        let ready = readyTargets
        if !ready.isEmpty, await Targets.ask(ready, within: limit) == .answering {
            findings.note(ready)
            findings.source = lastFinding
            // How far it leads is known then, or is asked once.
            if findings.targetsAreFar || means.lookOnline == nil || lastFinding != nil { return findings }
        }
        let isSettled = findings.targets != nil
        let rest = targets
        async let answers = isSettled ? .answering : Targets.ask(rest, within: limit)
        async let finding = askSource(network, within: limit)
        async let state = askPortal(network, within: limit)
        async let gateway = means.askGateway(min(limit, .milliseconds(1800)))
        findings.gateway = await gateway
        findings.source = await finding
        findings.portal = await state
        findings.targets = await answers
        findings.targetsAreFar = targets.contains(where: \.isFar)
        return findings
    }

    private var readyTargets: [WatchedTarget] { targets.filter { $0.status().isOnline } }

    /// Of the source of validation.
    private var lastFinding: ValidationFinding? { findings?.source }

    /// Where the budget is used up, the last finding stands.
    private func askSource(_ network: InterfaceNetwork, within limit: Duration) async -> ValidationFinding? {
        guard let lookOnline = means.lookOnline else { return nil }
        guard budget.takeProbe(at: .now) else { return lastFinding ?? .failed(.timedOut) }
        let look = await lookOnline(network, limit)
        budget.spent(bytes: look.cost)
        return look.finding
    }

    private func askPortal(_ network: InterfaceNetwork, within limit: Duration) async -> CaptiveState? {
        if let portal, portal.schedule.next > .now { return portal.state }
        let path = path
        let state = await means.askPortal(network, limit)
        guard path == self.path else { return nil }
        portal = state.map { ($0, CaptiveSchedule(after: $0, asked: .now)) }
        return state
    }

    private typealias Targets = ReachFindings.Targets

    // MARK: What comes unasked

    /// A target's connection is in another state.
    func changed(_ target: WatchedTarget) {
        listeners.publish(.targetChanged(target.report()))
        if target.status().isOnline, path != .none {
            // How far the network leads is known by that, and the next probe may be long in coming.
            var new = findings ?? ReachFindings()
            new.note([target])
            (findings, checked) = (new, .now)
        }
        listeners.changed()
        guard target.status().isOnline, case .wifi(let epoch) = path else { return }
        listeners.policy(.probed(epoch: epoch, .online))
    }

    /// A connection that was there is not any more. Where another one lives, the network is not to blame.
    func doubted(_ target: WatchedTarget) {
        guard required == .target || required == .internet, case .wifi(let epoch) = path,
            !targets.contains(where: { $0.name != target.name && $0.status().isOnline })
        else { return }
        listeners.policy(.doubted(epoch: epoch))
    }

    func flagsChanged(to new: ReachabilityFlags) {
        guard new != flags else { return }
        flags = new
        listeners.changed()
    }

    // MARK: Signing in

    func signInChanged(to new: HotspotStatus) {
        let old = hotspotStatus
        hotspotStatus = new
        if new.request != old.request {
            if let request = new.request {
                listeners.publish(.portalRequest(request))
            } else if let request = old.request {
                listeners.publish(.portalEnded(PortalEnded(id: request.id)))
            }
        }
        if new.portal != old.portal { listeners.changed() }
        guard case .wifi(let epoch) = path else { return }
        if new.portal.state == .authenticated, old.portal.state != .authenticated {
            // Whether it is so, the network itself shows.
            look(within: .seconds(3)) { [weak self] verdict in self?.signedIn(verdict, epoch: epoch) }
        } else if let end = new.signingInUntil, new.portal.state != .presentingUI {
            isAwaitingSignIn = true
            listeners.policy(.signingIn(epoch: epoch, until: end))
        } else if isAwaitingSignIn, new.signingInUntil == nil || new.portal.state == .presentingUI {
            // Nobody can, or a person has to: a network that needs nobody is better.
            isAwaitingSignIn = false
            listeners.policy(.probed(epoch: epoch, .captive))
        }
    }

    private func signedIn(_ verdict: ReachVerdict, epoch: UInt64) {
        isAwaitingSignIn = false
        if verdict.result == .captive, let (network, name) = listeners.captiveNetwork() {
            hotspots?.captiveFound(network, name: name)
        } else if verdict.result == .online {
            hotspots?.onlineFound()
        }
        listeners.policy(.probed(epoch: epoch, verdict.result))
    }

    var portalStatus: PortalStatus { PortalStatus(portal: currentPortal, request: hotspotStatus.request) }

    func answer(_ answer: PortalAnswer) throws(ProtocolError) -> PortalStatus {
        guard let hotspots, let request = hotspotStatus.request, request.id == answer.id else {
            throw ProtocolError(.unknownPortal, "nobody is asked for anything")
        }
        do throws(PortalAnswerRefusal) { try hotspots.answer(answer) } catch { throw ProtocolError(error) }
        return portalStatus
    }

    // MARK: Status

    private var currentPortal: Portal? {
        guard verdict?.internet == .captive || hotspotStatus.portal.state != .inactive else { return nil }
        var portal = hotspotStatus.portal
        portal.url = portal.url ?? verdict?.portal
        portal.secondsRemaining = verdict?.secondsRemaining
        portal.bytesRemaining = verdict?.bytesRemaining
        return portal
    }

    var connectivity: Connectivity {
        Connectivity(
            level: path == .none ? nil : verdict?.level ?? .link, required: required,
            internet: verdict?.internet ?? .unknown, problem: verdict?.problem, portal: currentPortal,
            targets: targets.map { $0.report() }, reachability: flags, checked: checked)
    }

    /// What follows of what was found last.
    var verdict: ReachVerdict? { findings.map { ReachVerdict($0, required: required) } }
}

extension ReachFindings.Targets {
    /// Asks all at once; the first that answers is enough.
    static func ask(_ targets: [WatchedTarget], within limit: Duration) async -> Self? {
        guard !targets.isEmpty else { return nil }
        return await withTaskGroup(of: ReachProblem?.self) { group in
            for target in targets { group.addTask { await target.probe(limit) } }
            var answers: [ReachProblem?] = []
            for await answer in group {
                answers.append(answer)
                if answer == nil { break }
            }
            group.cancelAll()
            return Self(answers)
        }
    }
}

extension ProtocolError {
    /// Names of fields that nobody asked for are not repeated: they may be somebody's password.
    fileprivate init(_ refusal: PortalAnswerRefusal) {
        switch refusal {
        case .notAsked: self.init(.unknownPortal, "nobody is asked for that any more")
        case .unknownField: self.init(.malformed, "one of the values was not asked for")
        case .missingField(let name): self.init(.malformed, "the value of \(name) is required")
        case .invalidValue(let name): self.init(.malformed, "the value of \(name) cannot be used")
        }
    }
}

extension NetworkStatus {
    /// What somebody who listens has to be told: not that it was looked again, nor how the time goes by.
    var news: NetworkStatus {
        var news = self
        guard var connectivity else { return news }
        connectivity.checked = nil
        connectivity.portal?.secondsRemaining = nil
        connectivity.portal?.bytesRemaining = nil
        for index in connectivity.targets.indices {
            connectivity.targets[index].since = Timestamp(millisecondsSince1970: 0)
        }
        news.connectivity = connectivity
        return news
    }
}
