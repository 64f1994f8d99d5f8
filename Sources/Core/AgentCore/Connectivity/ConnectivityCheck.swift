import AgentModel
import Failover

/// One connectivity check: several questions with a common time limit, without I/O. It ends when the result is online
/// whatever the pending answers are, when all questions are answered, or at the limit. Questions pending at the limit
/// count as unanswered.
struct ConnectivityCheck: Sendable {
    enum Question: Hashable, Sendable {
        case target(String), source, portal, gateway

        fileprivate var part: ReachFindings.Open {
            switch self {
            case .target: .targets
            case .source: .source
            case .portal: .portal
            case .gateway: .gateway
            }
        }
    }

    enum Answer: Sendable {
        case target(ReachFindings.Answer)
        /// Result of the validation source; nil if the budget does not allow the question.
        case source(ValidationFinding?)
        case portal(CaptiveState?)
        case gateway(Bool)
    }

    enum Effect: Sendable {
        case ask([Question])
        case over
    }

    private(set) var findings: ReachFindings
    private let all: [Question]
    private let required: ReachLevel
    private let limit: Duration
    private let end: Instant
    private var pending: Set<Question> = []
    /// Time at which the remaining questions are asked if the first targets do not suffice.
    private var headStartEnd: Instant?
    private var hasAskedAll = false
    /// End of the wait for the captive portal API; nil while the API is not asked.
    private var portalEnd: Instant?

    /// - Parameter findings: Findings known before the check. The check asks their open parts with all other questions.
    init(
        of targets: [String], hasSource: Bool, for required: ReachLevel, knowing findings: ReachFindings,
        from now: Instant, within limit: Duration
    ) {
        all = targets.map { .target($0) } + (hasSource ? [.source] : []) + [.portal, .gateway]
        (self.required, self.findings, self.limit) = (required, findings, limit)
        end = now + limit
    }

    /// - Parameters:
    ///   - first: Targets that probably answer without traffic. If they do, the other questions are not asked.
    ///   - headStart: Delay before the other questions, at most a quarter of the limit.
    mutating func begin(asking first: [String], headStart: Duration, at now: Instant) -> [Question] {
        guard !first.isEmpty else { return askAll(at: now) }
        headStartEnd = now + min(limit / 4, headStart)
        return ask(first.map { .target($0) }, at: now)
    }

    /// Time limit for questions: 90 % of the remaining time, so that a failed question can report its reason.
    func rest(at now: Instant) -> Duration { max(.zero, (end - now) * 9 / 10) }

    /// Time of the next call to `passed`.
    var next: Instant { [headStartEnd, portalEnd].compactMap(\.self).reduce(end, min) }

    var awaitsPortal: Bool { pending.contains(.portal) }

    private mutating func askAll(at now: Instant) -> [Question] {
        guard !hasAskedAll else { return [] }
        hasAskedAll = true
        headStartEnd = nil
        findings.open = []
        return ask(
            all.filter { question in
                guard case .target(let name) = question else { return true }
                return findings.targets[name] == nil && !pending.contains(question)
            }, at: now)
    }

    private mutating func ask(_ questions: [Question], at now: Instant) -> [Question] {
        pending.formUnion(questions)
        if pending.contains(.portal), portalEnd == nil { portalEnd = now + rest(at: now) }
        return questions
    }

    // MARK: Answers

    mutating func heard(_ question: Question, _ answer: Answer, at now: Instant) -> Effect {
        guard pending.remove(question) != nil else { return .ask([]) }
        switch (question, answer) {
        case (.target(let name), .target(let answer)): findings.targets[name] = answer
        case (_, .source(let finding?)): findings.source = finding
        case (_, .source(nil)): findings.open.insert(.source)
        case (_, .portal(let state)):
            findings.portal = state
            portalEnd = nil
        case (_, .gateway(let answers)): findings.gateway = answers
        case (_, .target): break
        }
        return review(at: now)
    }

    mutating func changed(_ target: String, _ answer: ReachFindings.Answer?, at now: Instant) -> Effect {
        findings.targets[target] = answer
        return review(at: now)
    }

    mutating func passed(to now: Instant, portal: CaptiveState?) -> Effect {
        if now >= end {
            timeIsOver()
            return .over
        }
        if let headStartEnd, headStartEnd <= now { return .ask(askAll(at: now)) }
        if let portalEnd, portalEnd <= now { return heard(.portal, .portal(portal), at: now) }
        return .ask([])
    }

    private mutating func review(at now: Instant) -> Effect {
        var open = findings
        for question in pending { open.open.insert(question.part) }
        if ReachVerdict(open, required: required).result == .online { return .over }
        guard pending.isEmpty else { return .ask([]) }
        return hasAskedAll ? .over : .ask(askAll(at: now))
    }

    mutating func timeIsOver() {
        for question in pending {
            switch question {
            case .target(let name): findings.targets[name] = findings.targets[name] ?? .problem(.timedOut)
            case .source: findings.source = .failed(.timedOut)
            case .portal: break
            case .gateway: findings.gateway = false
            }
        }
    }
}
