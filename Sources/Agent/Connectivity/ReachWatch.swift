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
        /// What the network says of itself.
        var captive: CaptiveWatch.Means
        /// Whether the gateway answers; true where there is none.
        var askGateway: @AgentLoop @Sendable (InterfaceNetwork, Duration) async -> Bool
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
        /// What went wrong with a sign-in is another thing, or nothing any more.
        var problem: (String?) -> Void = { _ in }
        /// What providers are told of the network in use; nil where that is not known.
        var captiveNetwork: () -> (CaptiveNetwork, NetworkName)? = { nil }
    }

    let required: ReachLevel
    let means: Means
    var listeners = Listeners()
    private(set) var targets: [WatchedTarget] = []
    private(set) var hotspots: (any SignInService)?

    private(set) var path = Path.none
    /// What was found on it last.
    var findings: ReachFindings?
    private var checked: Timestamp?
    /// What the network says of itself.
    let captive: CaptiveWatch
    /// What all questions to others together may cost.
    let budget: QuestionBudget
    /// The sign-in, where the network wants one.
    var signIn = SignInCourse()
    /// While whoever signed in logs off, which the next join waits for.
    var farewell: Task<Void, Never>?
    private var looking: Task<Void, Never>?
    private var lookTimer: LoopTimer?
    private var flags: ReachabilityFlags = []

    init(required: ReachLevel, means: Means, budget: QuestionBudget) {
        self.required = required
        self.means = means
        self.budget = budget
        captive = CaptiveWatch(means.captive, budget)
        captive.onAnswer = { [weak self] in self?.captiveAnswered($0, wantsExtension: $1) }
    }

    /// Before anything else happens.
    func watch(_ targets: [WatchedTarget], signingInBy hotspots: (any SignInService)?) {
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
        (findings, checked) = (nil, nil)
        captive.follow(network)
        signInLeft()
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

    func look(within limit: Duration, then conclude: @escaping (ReachVerdict) -> Void) {
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
        var findings = ReachFindings(portal: captive.state)
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
        async let state = captive.state(within: limit)
        async let gateway = means.askGateway(network, min(limit, .milliseconds(1800)))
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
        guard budget.take(for: .probe) else { return lastFinding ?? .failed(.timedOut) }
        let look = await lookOnline(network, limit)
        budget.spent(bytes: look.cost, for: .probe)
        return look.finding
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

    // MARK: Status

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
