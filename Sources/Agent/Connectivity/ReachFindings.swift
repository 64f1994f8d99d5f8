import AgentModel
import AppProtocol
import FailoverPolicy
import OnlineValidation

/// What was found when it was looked how far a network leads. Nil is what was not asked.
struct ReachFindings: Sendable, Equatable {
    /// What became of the targets, in the best case.
    enum Targets: Sendable, Equatable {
        case answering
        /// Somebody refused there: a packet came back, if not what was hoped for.
        case refusing(ReachProblem)
        case silent(ReachProblem)
    }

    var targets: Targets?
    /// Whether what was reached of the targets is out in the internet.
    var targetsAreFar = false
    var source: ValidationFinding?
    var portal: CaptiveState?
    /// Whether the gateway answers; true where there is none to ask.
    var gateway: Bool?
}

extension ReachFindings {
    /// Targets have answered, if any.
    mutating func note(_ answering: [WatchedTarget]) {
        guard !answering.isEmpty else { return }
        targetsAreFar = answering.contains(where: \.isFar) || targets == .answering && targetsAreFar
        targets = .answering
    }
}

extension ReachFindings.Targets {
    /// The best of several.
    init?(_ answers: some Sequence<ReachProblem?>) {
        var best: Self?
        for answer in answers {
            switch (answer, best) {
            case (nil, _): best = .answering
            case (_, .answering): break
            case (let problem?, _) where problem.provesThePath: best = .refusing(problem)
            case (let problem?, nil): best = .silent(problem)
            case (_?, _?): break
            }
        }
        guard let best else { return nil }
        self = best
    }
}

extension ReachProblem {
    /// Whether the other side was reached, or somebody who may speak for it.
    fileprivate var provesThePath: Bool {
        switch self {
        case .connectionRefused, .connectionReset, .tlsFailed, .unexpectedAnswer: true
        default: false
        }
    }
}

/// What follows of it.
struct ReachVerdict: Sendable, Equatable {
    let result: ProbeResult
    let level: ReachLevel
    let internet: InternetState
    let problem: ReachProblem?
    let portal: String?

    init(_ findings: ReachFindings, required: ReachLevel) {
        let online = OnlineVerdict(finding: findings.source, state: findings.portal)
        let isAnswered = findings.targets == .answering
        // A refusal may be the gateway's doing: it proves nothing where the source of validation was not reached.
        var isRefused = false
        if case .refusing = findings.targets { isRefused = online.internet == .yes || online.internet == .unknown }
        let isThere = isAnswered || isRefused
        let isFar = isAnswered && findings.targetsAreFar
        internet = isFar ? .yes : online.internet
        level =
            isAnswered
            ? .target
            : internet == .yes || isRefused && findings.targetsAreFar
                ? .internet : findings.gateway != false || isThere || internet == .captive ? .lan : .link
        let isEnough =
            switch required {
            case .link: true
            case .lan: level >= .lan
            case .internet: level >= .internet
            // A server that refuses is there, and what ails it no other network cures.
            case .target: isThere
            }
        result = isEnough ? .online : internet == .captive ? .captive : .failed
        problem = Self.problem(findings, online, isAnswered: isAnswered)
        portal = internet == .captive ? online.portal : nil
    }

    /// What lies nearest to the device explains what lies behind it.
    private static func problem(
        _ findings: ReachFindings, _ online: OnlineVerdict, isAnswered: Bool
    ) -> ReachProblem? {
        if isAnswered { return nil }
        if online.internet == .captive { return .captive }
        if findings.gateway == false, online.internet != .yes { return .gatewaySilent }
        if let problem = online.problem { return problem }
        return switch findings.targets {
        case .refusing(let problem), .silent(let problem): problem
        case .answering, nil: nil
        }
    }
}
