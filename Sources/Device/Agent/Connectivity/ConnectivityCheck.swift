import AgentModel
import Connectivity
import Linux

/// One look how far a network leads, with one time limit for all who are asked.
///
/// It ends as soon as nothing that is still to come could make it worse than good, when everybody has answered, or when
/// the time is over: then silence is the answer of those who were silent.
@AgentLoop
final class ConnectivityCheck {
    /// How everybody is asked.
    struct Questions {
        var targets: [WatchedTarget] = []
        /// Nil where there is no source; gives nil where it must not be asked.
        var source: ((Duration) async -> ValidationFinding?)?
        var portal: (Duration) async -> CaptiveState?
        var gateway: (Duration) async -> Bool
    }

    private enum Question: Hashable {
        case target(String), source, portal, gateway

        var part: ReachFindings.Open {
            switch self {
            case .target: .targets
            case .source: .source
            case .portal: .portal
            case .gateway: .gateway
            }
        }
    }

    private let questions: Questions
    private let required: ReachLevel
    private let limit: Duration
    private let end: Instant
    private let conclude: (ReachFindings) -> Void
    private(set) var findings: ReachFindings
    private var pending: Set<Question> = []
    /// Asked only if those who were asked first do not do.
    private var hasAskedAll = false
    private var tasks: [Task<Void, Never>] = []
    private var timers: [LoopTimer] = []
    private var isOver = false

    /// - Parameters:
    ///   - findings: what is known already; what is open of it is asked together with the rest.
    ///   - conclude: is told once what was found, unless it is cancelled before.
    init(
        _ questions: Questions, for required: ReachLevel, within limit: Duration, knowing findings: ReachFindings,
        conclude: @escaping (ReachFindings) -> Void
    ) {
        (self.questions, self.required, self.findings, self.conclude) = (questions, required, findings, conclude)
        (self.limit, end) = (limit, .now + limit)
    }

    /// - Parameters:
    ///   - first: targets that are likely to answer without any traffic, and are enough if they do.
    ///   - headStart: the others are asked after this, or after a quarter of the limit.
    func begin(asking first: [WatchedTarget], headStart: Duration) {
        timers = [LoopTimer(after: limit) { [weak self] in self?.timeIsOver() }]
        guard !first.isEmpty else { return askAll() }
        timers.append(LoopTimer(after: min(limit / 4, headStart)) { [weak self] in self?.askAll() })
        for target in first { ask(target) }
    }

    /// Nothing is concluded then.
    func cancel() {
        isOver = true
        timers = []
        for task in tasks { task.cancel() }
    }

    /// A target's connection is in another state.
    func changed(_ target: WatchedTarget) {
        guard !isOver else { return }
        findings.targets[target.name] = target.answer
        review()
    }

    // MARK: Asking

    /// A little less than there is, so that the one that is asked still says why there is no answer.
    private var rest: Duration { max(.zero, (end - .now) * 9 / 10) }

    private func ask(_ target: WatchedTarget) {
        ask(.target(target.name)) { [rest] in
            let problem = await target.probe(rest)
            return { findings in
                findings.targets[target.name] = problem.map { .problem($0) } ?? .answers(target.proof)
            }
        }
    }

    private func askAll() {
        guard !isOver, !hasAskedAll else { return }
        hasAskedAll = true
        findings.open = []
        let (rest, questions) = (rest, questions)
        for target in questions.targets
        where findings.targets[target.name] == nil && !pending.contains(.target(target.name)) { ask(target) }
        if let source = questions.source {
            ask(.source) {
                let finding = await source(rest)
                return { findings in
                    if let finding { findings.source = finding } else { findings.open.insert(.source) }
                }
            }
        }
        ask(.portal) {
            let state = await questions.portal(rest)
            return { $0.portal = state }
        }
        ask(.gateway) {
            let answers = await questions.gateway(rest)
            return { $0.gateway = answers }
        }
    }

    private func ask(
        _ question: Question, _ answer: @escaping @AgentLoop () async -> (inout ReachFindings) -> Void
    ) {
        pending.insert(question)
        tasks.append(
            AgentLoop.begin { [weak self] in
                let note = await answer()
                self?.heard(question, note)
            })
    }

    // MARK: Answers

    private func heard(_ question: Question, _ note: (inout ReachFindings) -> Void) {
        guard !isOver, pending.remove(question) != nil else { return }
        note(&findings)
        review()
    }

    private func review() {
        var open = findings
        for question in pending { open.open.insert(question.part) }
        if ReachVerdict(open, required: required).result == .online { return finish() }
        guard pending.isEmpty else { return }
        if hasAskedAll { finish() } else { askAll() }
    }

    func timeIsOver() {
        guard !isOver else { return }
        for question in pending {
            switch question {
            case .target(let name): findings.targets[name] = findings.targets[name] ?? .problem(.timedOut)
            case .source: findings.source = .failed(.timedOut)
            case .portal: break
            case .gateway: findings.gateway = false
            }
        }
        finish()
    }

    private func finish() {
        cancel()
        conclude(findings)
    }
}
