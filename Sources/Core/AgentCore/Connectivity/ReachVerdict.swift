import AgentModel
import Failover

/// What was found when it was looked how far a network leads. Nil is what was not asked.
package struct ReachFindings: Sendable, Equatable {
    /// What a target's answer proves, from the least to the most.
    package enum Proof: Int, Sendable, Comparable, CaseIterable {
        /// It is in the house, or leads there.
        case near
        /// Its address is one of the internet. A host in between may have answered in its place.
        case far
        /// The same, and its certificate is the right one: no other host can have answered.
        case certified

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    package enum Answer: Sendable, Equatable {
        case answers(Proof)
        case problem(ReachProblem)
    }

    /// Questions that could not be asked yet, and whose answers might change the verdict.
    package struct Open: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let targets = Open(rawValue: 1)
        package static let source = Open(rawValue: 2)
        package static let portal = Open(rawValue: 4)
        package static let gateway = Open(rawValue: 8)
    }

    /// By the targets' names.
    package var targets: [String: Answer] = [:]
    package var source: ValidationFinding?
    package var portal: CaptiveState?
    /// Whether the gateway answers; true where there is none to ask.
    package var gateway: Bool?
    package var open: Open = []
}

extension ReachFindings {
    /// The most that a target has proved.
    var proof: Proof? {
        targets.values.compactMap { if case .answers(let proof) = $0 { proof } else { nil } }.max()
    }

    /// Why targets do not answer: where one has refused, that says more than another's silence.
    var targetProblem: ReachProblem? {
        let problems = targets.values.compactMap { if case .problem(let problem) = $0 { problem } else { nil } }
        return problems.min { ($0.rank, $0.rawValue) < ($1.rank, $1.rawValue) }
    }

    /// Everything that may come of what is open.
    var completions: [ReachFindings] {
        var completions = [self]
        func branch(_ part: Open, _ alternatives: [(inout ReachFindings) -> Void]) {
            guard open.contains(part) else { return }
            completions = completions.flatMap { findings in
                alternatives.map { alternative in
                    var findings = findings
                    alternative(&findings)
                    return findings
                }
            }
        }
        branch(.targets, [{ $0.targets[""] = .answers(.certified) }, { $0.targets[""] = .problem(.timedOut) }])
        branch(
            .source,
            [
                { $0.source = .online }, { $0.source = .captive(portal: nil) }, { $0.source = .failed(.timedOut) },
            ])
        branch(.portal, [{ $0.portal = nil }, { $0.portal = CaptiveState(isCaptive: true) }])
        branch(.gateway, [{ $0.gateway = true }, { $0.gateway = false }])
        return completions
    }
}

extension ReachProblem {
    /// A packet came back from the other side, or from a host that speaks for it.
    var isRefusal: Bool {
        switch self {
        case .connectionRefused, .connectionReset, .tlsFailed, .unexpectedAnswer: true
        default: false
        }
    }

    /// What says most of a target comes first.
    fileprivate var rank: Int { self == .connectionRefused ? 0 : isRefusal ? 1 : 2 }
}

/// What follows of what was found; Docs/validation.md has the table.
package struct ReachVerdict: Sendable, Equatable {
    /// Nil where it depends on an answer that could not be asked for.
    package let result: ProbeResult?
    package let level: ReachLevel
    package let internet: InternetState
    package let problem: ReachProblem?
    package let portal: String?

    init(_ findings: ReachFindings, required: ReachLevel) {
        let reached = Reached(findings)
        (level, internet) = (reached.level, reached.internet)
        let known = reached.result(for: required)
        let possible = Set(findings.completions.map { Reached($0).result(for: required) })
        // No question is needed where every answer comes to the same.
        result = possible.contains(.online) ? possible.count == 1 ? .online : nil : known
        problem = reached.problem(for: required)
        portal = internet == .captive ? reached.online.portal : nil
    }
}

/// How far it leads, as far as that was found.
private struct Reached {
    let findings: ReachFindings
    /// What is held of it without the targets.
    let online: OnlineVerdict
    let internet: InternetState

    init(_ findings: ReachFindings) {
        self.findings = findings
        online = OnlineVerdict(finding: findings.source, state: findings.portal)
        internet =
            switch (findings.proof, online.internet) {
            // No host in between can show that certificate.
            case (.certified, _): .yes
            // A captive network answers in place of every server.
            case (_, .captive): .captive
            case (.far, _): .yes
            default: online.internet
            }
    }

    private var isCaptive: Bool { internet == .captive }

    var level: ReachLevel {
        if isCaptive { return .lan }
        if findings.proof != nil { return .target }
        if internet == .yes { return .internet }
        return findings.gateway != false || findings.targetProblem == .connectionRefused ? .lan : .link
    }

    func result(for required: ReachLevel) -> ProbeResult {
        if required == .link { return .online }
        if isCaptive { return .captive }
        let isEnough =
            switch required {
            case .link: true
            case .lan: level >= .lan
            case .internet: internet == .yes
            case .target: findings.proof != nil || isServerToBlame
            }
        return isEnough ? .online : .failed
    }

    /// A server that refuses is there, and what ails it no other network cures. A host in between may refuse, break
    /// off, or answer otherwise: that the network leads out must be known. Without a source that could know it, the
    /// plain refusal is believed, which routers rarely make up.
    private var isServerToBlame: Bool {
        guard let problem = findings.targetProblem, problem.isRefusal else { return false }
        return internet == .yes || internet == .unknown && problem == .connectionRefused
    }

    /// What lies nearest to the device explains what lies behind it.
    func problem(for required: ReachLevel) -> ReachProblem? {
        if isCaptive { return .captive }
        if findings.proof != nil, required != .internet || internet == .yes { return nil }
        if findings.proof == nil, findings.gateway == false, internet != .yes { return .gatewaySilent }
        return online.problem ?? findings.targetProblem
    }
}

/// The verdict on a network by its source of validation and its captive portal API.
///
/// Whether it leads to the internet is what the source shows: a network that says of itself that it is open may still
/// lead nowhere. The API says where to sign in.
package struct OnlineVerdict: Sendable, Equatable {
    package var internet: InternetState
    /// Why not, where `internet` is `no` or `captive`.
    package var problem: ReachProblem?
    /// The page to sign in at: by the API, or else by the redirection of the question.
    package var portal: String?

    /// - Parameters:
    ///   - finding: nil if there is no source of validation.
    ///   - state: nil if the network has no API, or it said nothing that could be understood.
    package init(finding: ValidationFinding?, state: CaptiveState?) {
        switch (finding, state?.isCaptive) {
        case (.online, _): (internet, problem) = (.yes, nil)
        case (.captive, _), (.failed, true), (nil, true): (internet, problem) = (.captive, .captive)
        case (.failed(let found), _): (internet, problem) = (.no, found)
        case (nil, _): (internet, problem) = (.unknown, nil)
        }
        portal = state?.userPortal
        if portal == nil, case .captive(let hint) = finding { portal = hint }
    }
}
