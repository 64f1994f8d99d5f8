import AgentModel
import Connectivity
import Failover
import Linux

/// Whether a link that is not in use yet leads to what the device needs. It asks as `ConnectivityMonitor` does, and on its own, so
/// that nothing of it is taken for what the link in use leads to.
@AgentLoop
final class SuccessorReach {
    let epoch: UInt64
    private let network: InterfaceNetwork
    private let targets: [WatchedTarget]
    private let captive: CaptiveWatch
    private let watch: ConnectivityMonitor.Means
    private let required: ReachLevel
    private let budget: QuestionBudget
    private var looking: ConnectivityCheck?

    init(
        epoch: UInt64, through network: InterfaceNetwork, targets: [WatchedTarget], means: ConnectivityMonitor.Means,
        required: ReachLevel, budget: QuestionBudget
    ) {
        self.epoch = epoch
        self.network = network
        self.targets = targets.map { $0.twin() }
        watch = means
        self.required = required
        self.budget = budget
        captive = CaptiveWatch(means.captive, budget)
        for target in self.targets {
            target.onWord = { [weak self] target, _ in self?.looking?.changed(target) }
            target.follow(network)
        }
        captive.follow(network)
    }

    func end() {
        looking?.cancel()
        looking = nil
        captive.follow(nil)
        for target in targets { target.follow(nil) }
    }

    func look(within limit: Duration, then conclude: @escaping (ReachVerdict) -> Void) {
        looking?.cancel()
        var source: ((Duration) async -> ValidationFinding?)?
        if let lookOnline = watch.lookOnline {
            source = { [budget, network] limit in
                guard budget.take(for: .probe) else { return nil }
                let look = await lookOnline(network, limit)
                budget.spent(bytes: look.cost, for: .probe)
                return look.finding
            }
        }
        let questions = ConnectivityCheck.Questions(
            targets: targets, source: source, portal: { [captive] limit in await captive.state(within: limit) },
            gateway: { [watch, network] limit in await watch.askGateway(network, min(limit, .milliseconds(1800))) })
        let look = ConnectivityCheck(questions, for: required, within: limit, knowing: ReachFindings()) {
            [weak self, required] findings in
            self?.looking = nil
            conclude(ReachVerdict(findings, required: required))
        }
        looking = look
        look.begin(asking: [], headStart: .zero)
    }
}

extension ConnectivityMonitor {
    /// The same as `probe`, of a link that is made beside the one in use.
    func probeSuccessor(epoch: UInt64, through network: InterfaceNetwork, within limit: Duration) {
        if successor?.epoch != epoch {
            leaveSuccessor()
            network.forget()
            successor = SuccessorReach(
                epoch: epoch, through: network, targets: targets, means: means, required: required, budget: budget)
        }
        successor?.look(within: Self.shortened(limit)) { [weak self] verdict in self?.report(verdict, epoch: epoch) }
    }

    func leaveSuccessor() {
        successor?.end()
        successor = nil
    }
}
