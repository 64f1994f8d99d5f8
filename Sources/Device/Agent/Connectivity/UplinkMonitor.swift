import AgentCore
import AgentModel
import Connectivity
import Linux

/// Checks uplinks other than Wi-Fi. Asks the questions of `UplinkValidation` through each uplink, keeps connections to
/// the targets through it, and returns the verdicts. Makes no decisions.
@AgentLoop
final class UplinkMonitor {
    private unowned let reach: ConnectivityMonitor
    private var validation: UplinkValidation
    private var ways: [UplinkCandidate: Way] = [:]
    private var questions: [ReachQuestionID: Task<Void, Never>] = [:]
    private var timer: (moment: Instant, timer: LoopTimer)?
    var onVerdicts: ([UplinkCandidate: UplinkVerdict]) -> Void = { _ in }

    private struct Way {
        let network: InterfaceNetwork
        let targets: [WatchedTarget]
        let usesWifiNames: Bool
    }

    /// Whether names are resolved through Wi-Fi, because the system has no name servers.
    private var usesWifiNames: Bool { reach.dependencies.unbound.announcements.nameServers.isEmpty }

    /// - Parameter reach: monitor with the dependencies and the targets. It must outlive this object.
    init(beside reach: ConnectivityMonitor, required: ReachLevel, budget: QuestionBudget.Limits) {
        self.reach = reach
        validation = UplinkValidation(
            required: required, targets: reach.targets.map(\.name),
            hasSource: reach.dependencies.validateOnline != nil,
            // A cable is asked 720 times an hour.
            budget: QuestionBudget.Limits(
                questionsPerHour: min(3600, 2 * budget.questionsPerHour), bytesPerHour: budget.bytesPerHour))
    }

    func follow(_ uplinks: [UplinkCandidate], lost: [UplinkCandidate]) { handle(.follow(uplinks, lost: lost)) }

    /// Uses the monitor's current targets.
    func retarget(required: ReachLevel) {
        handle(.retargeted(required: required, targets: reach.targets.map(\.name)))
    }

    func stop() {
        onVerdicts = { _ in }
        handle(.follow([]))
    }

    private func handle(_ event: UplinkValidationEvent) {
        for effect in validation.handle(event, at: reach.dependencies.now()) { perform(effect) }
        plan()
    }

    private func plan() {
        guard let next = validation.nextWake else { return timer = nil }
        guard timer?.moment != next else { return }
        timer = (
            next,
            LoopTimer(after: next - reach.dependencies.now()) { [weak self] in
                self?.timer = nil
                self?.handle(.timer)
            }
        )
    }

    private func perform(_ effect: UplinkEffect) {
        switch effect {
        case .open(let uplink): open(uplink)
        case .close(let uplink): close(uplink)
        case .ask(let id, let question, let uplink, let limit): ask(id, question, uplink, within: limit)
        case .cancel(let ids): for id in ids { questions.removeValue(forKey: id)?.cancel() }
        case .judged(let verdicts): onVerdicts(verdicts)
        }
    }

    private func open(_ uplink: UplinkCandidate) {
        close(uplink)
        let usesWifiNames = usesWifiNames
        let network = InterfaceNetwork(
            interface: uplink.interface,
            namesFrom: usesWifiNames ? reach.dependencies.wifi : reach.dependencies.unbound)
        // Without a required target, no connection is kept.
        let targets = validation.asksTargets ? reach.targets.map { $0.twin() } : []
        ways[uplink] = Way(network: network, targets: targets, usesWifiNames: usesWifiNames)
        for target in targets {
            target.onWord = { [weak self] _, word in
                if case .doubted = word { self?.handle(.targetDoubted(uplink)) }
            }
            target.follow(network)
        }
    }

    private func close(_ uplink: UplinkCandidate) {
        for target in ways.removeValue(forKey: uplink)?.targets ?? [] { target.cancel() }
    }

    private func ask(
        _ id: ReachQuestionID, _ question: ReachQuestion, _ uplink: UplinkCandidate, within limit: Duration
    ) {
        guard validation.isAsking(id) else { return }
        if question != .gateway, ways[uplink]?.usesWifiNames != usesWifiNames { open(uplink) }
        guard let way = ways[uplink] else { return }
        questions[id] = AgentLoop.begin { [weak self, dependencies = reach.dependencies] in
            let answer = await dependencies.answer(to: question, way.network, way.targets, within: limit)
            self?.questions[id] = nil
            guard let answer = UplinkAnswer(answer, to: question, of: way.targets) else { return }
            self?.handle(.answer(id, answer))
        }
        // The answer may have arrived before the task was stored.
        if !validation.isAsking(id) { questions[id] = nil }
    }
}

extension UplinkAnswer {
    /// - Returns: nil for answers to questions that are never asked about an uplink.
    @AgentLoop
    fileprivate init?(_ answer: ReachAnswer, to question: ReachQuestion, of targets: [WatchedTarget]) {
        switch (answer, question) {
        case (.target(let problem?), _): self = .target(.problem(problem))
        case (.target(nil), .target(let name)):
            guard let target = targets.first(where: { $0.name == name }) else { return nil }
            self = .target(.answers(target.snapshot.proof))
        case (.source(let finding, let cost), _): self = .source(finding, cost: cost)
        case (.gateway(let answers), _): self = .gateway(answers)
        case (.target, _), (.portalAddress, _), (.portal, _): return nil
        }
    }
}
