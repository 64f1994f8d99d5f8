import AgentModel
import Failover

/// One check how far a link leads, with one time limit for all that is asked: decides, and asks nothing itself.
///
/// It ends as soon as nothing that is still to come could make it worse than good, when everything is answered, or when
/// the time is over: then silence is the answer of what was silent.
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
        /// What the target's answer proves, or why there is none.
        case target(ReachFindings.Answer)
        /// Nil where it must not be asked.
        case source(ValidationFinding?)
        case portal(CaptiveState?)
        case gateway(Bool)
    }

    enum Step: Sendable {
        /// It goes on, and these are asked besides.
        case ask([Question])
        case over
    }

    private(set) var findings: ReachFindings
    private let all: [Question]
    private let required: ReachLevel
    private let limit: Duration
    private let end: Instant
    private var pending: Set<Question> = []
    /// When those are asked that are asked only if the first ones do not do.
    private var headStartEnd: Instant?
    private var hasAskedAll = false
    /// Until when the network's own word is waited for.
    private var portalEnd: Instant?

    /// - Parameters:
    ///   - targets: their names.
    ///   - findings: what is known already; what is open of it is asked together with the rest.
    init(
        of targets: [String], hasSource: Bool, for required: ReachLevel, knowing findings: ReachFindings,
        from now: Instant, within limit: Duration
    ) {
        all = targets.map { .target($0) } + (hasSource ? [.source] : []) + [.portal, .gateway]
        (self.required, self.findings, self.limit) = (required, findings, limit)
        end = now + limit
    }

    /// - Parameters:
    ///   - first: targets that are likely to answer without any traffic, and are enough if they do.
    ///   - headStart: the others are asked after this, or after a quarter of the limit.
    mutating func begin(asking first: [String], headStart: Duration, at now: Instant) -> [Question] {
        guard !first.isEmpty else { return askAll(at: now) }
        headStartEnd = now + min(limit / 4, headStart)
        return ask(first.map { .target($0) }, at: now)
    }

    /// A little less than there is, so that what is asked still says why there is no answer.
    func rest(at now: Instant) -> Duration { max(.zero, (end - now) * 9 / 10) }

    /// When it wants to be told the time.
    var next: Instant { [headStartEnd, portalEnd].compactMap(\.self).reduce(end, min) }

    /// The network's own word is waited for.
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

    mutating func heard(_ question: Question, _ answer: Answer, at now: Instant) -> Step {
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

    /// A target's connection is in another state.
    mutating func changed(_ target: String, _ answer: ReachFindings.Answer?, at now: Instant) -> Step {
        findings.targets[target] = answer
        return review(at: now)
    }

    /// - Parameter portal: the network's own word, as far as it is known.
    mutating func passed(to now: Instant, portal: CaptiveState?) -> Step {
        if now >= end {
            timeIsOver()
            return .over
        }
        if let headStartEnd, headStartEnd <= now { return .ask(askAll(at: now)) }
        if let portalEnd, portalEnd <= now { return heard(.portal, .portal(portal), at: now) }
        return .ask([])
    }

    private mutating func review(at now: Instant) -> Step {
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
