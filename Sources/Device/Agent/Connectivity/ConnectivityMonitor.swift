import AgentCore
import AgentModel
import AppProtocol
import Connectivity
import Failover
import Hotspots
import Linux

/// Knows how far the network in use leads: keeps the connections to the targets, answers the policy's probes, has a
/// provider sign in where that is wanted, and tells what changes.
///
/// Whatever is found belongs to the path it was found on; what comes late is dropped.
@AgentLoop
final class ConnectivityMonitor {
    /// Where packets go now. Over Wi-Fi everything is bound to the interface; over another uplink nothing is.
    typealias Path = TrafficPath

    /// How the world is asked. Each answers within the limit it is given.
    struct Means: Sendable {
        var lookOnline: (@Sendable (InterfaceNetwork, Duration) async -> ValidationLook)?
        /// What the network says of itself.
        var captive: CaptiveWatch.Means
        /// Whether the gateway answers; true where there is none.
        var askGateway: @AgentLoop @Sendable (InterfaceNetwork, Duration) async -> Bool
        /// The network bound to the Wi-Fi interface in use, and the unbound one.
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

    struct Timing {
        /// For a look that has no limit of its own.
        var look = Duration.seconds(3)
        /// How long a target that was heard lately has to say so again, before others are asked.
        var headStart = Duration.milliseconds(500)
    }

    let required: ReachLevel
    private(set) var means: Means
    var timing = Timing()
    var listeners = Listeners()
    private(set) var targets: [WatchedTarget] = []
    private(set) var hotspots: (any SignInService)?

    private(set) var path = Path.none
    /// What was found on it last.
    var findings: ReachFindings?
    private(set) var checked: Timestamp?
    /// When the source of validation was asked last, and whether the network was asked about itself.
    var sourceAsked: Instant?
    var isPortalKnown = false
    /// What the network says of itself.
    let captive: CaptiveWatch
    /// What all questions to others together may cost.
    let budget: QuestionBudget
    /// The sign-in, where the network wants one.
    var signIn = SignInCourse()
    /// While the provider logs off, which the next join waits for.
    var farewell: Task<Void, Never>?
    /// The look that is under way, and who waits for what it finds.
    var looking: ConnectivityCheck?
    var waiting: [(ReachVerdict) -> Void] = []
    /// What is asked over a link that is not in use yet.
    var successor: SuccessorReach?
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
        for target in targets {
            target.onWord = { [weak self] target, word in
                switch word {
                case .changed: self?.changed(target)
                case .doubted: self?.doubted(target)
                }
            }
        }
    }

    func stop() async {
        leaveSuccessor()
        follow(.none)
        await hotspots?.shutDown()
    }

    // MARK: The path

    func follow(_ new: Path) {
        guard new != path else { return }
        path = new
        looking?.cancel()
        (looking, lookTimer, waiting) = (nil, nil, [])
        (findings, checked, sourceAsked, isPortalKnown) = (nil, nil, nil, false)
        captive.follow(network)
        signInLeft()
        means.wifi.forget()
        means.unbound.forget()
        for target in targets {
            target.follow(network)
            // A target without a network does not report the change itself.
            if network == nil { listeners.publish(.targetChanged(target.report())) }
        }
        // The policy does not probe a network other than Wi-Fi.
        if case .other = new { lookByItself() }
        listeners.changed()
    }

    /// Another interface is the one in use from now on.
    func use(_ wifi: InterfaceNetwork) { means.wifi = wifi }

    var network: InterfaceNetwork? {
        switch path {
        case .none: nil
        case .wifi: means.wifi
        case .other: means.unbound
        }
    }

    /// The state that the device is in by another uplink is looked at now and then; nothing is decided by it.
    private func lookByItself() {
        look(within: timing.look) { _ in }
        lookTimer = LoopTimer(after: .seconds(60)) { [weak self] in self?.lookByItself() }
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

    /// Something else is known now.
    func note(_ new: ReachFindings) {
        let old = verdict
        (findings, checked) = (new, .now)
        if verdict != old { listeners.changed() }
    }

    /// What follows of what was found last.
    var verdict: ReachVerdict? { findings.map { ReachVerdict($0, required: required) } }
}

extension NetworkStatus {
    /// The part that is news to a subscriber: not that it was looked again, nor how the time goes by.
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
