import AgentModel
import Failover

/// Findings of a connectivity check; each is nil if not asked.
package struct ReachFindings: Sendable, Equatable {
    /// Proof given by a target's answer, from weak to strong.
    package enum Proof: Int, Sendable, Comparable, CaseIterable {
        /// The target is local, or its name resolves to a local address.
        case near
        /// The target has a public address. A middlebox may have answered instead.
        case far
        /// The target also has a valid certificate, so no other host answered.
        case certified

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    package enum Answer: Sendable, Equatable {
        case answers(Proof)
        case problem(ReachProblem)
    }

    /// Questions that could not be asked yet, but could change the verdict.
    package struct Open: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let targets = Open(rawValue: 1)
        package static let source = Open(rawValue: 2)
        package static let portal = Open(rawValue: 4)
        package static let gateway = Open(rawValue: 8)
    }

    /// Answers by name of the target.
    package var targets: [String: Answer] = [:]
    package var source: ValidationFinding?
    package var portal: CaptiveState?
    /// Whether the gateway answers; true if there is none.
    package var gateway: Bool?
    package var open: Open = []
}

extension ReachFindings {
    var proof: Proof? {
        targets.values.compactMap { if case .answers(let proof) = $0 { proof } else { nil } }.max()
    }

    /// Problem of the targets. A refusal takes precedence over silence.
    var targetProblem: ReachProblem? {
        let problems = targets.values.compactMap { if case .problem(let problem) = $0 { problem } else { nil } }
        return problems.min { ($0.rank, $0.rawValue) < ($1.rank, $1.rawValue) }
    }

    /// All findings that are possible after answers to the open questions.
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
    /// Whether the target, or a host in its place, sent a packet back.
    var isRefusal: Bool {
        switch self {
        case .connectionRefused, .connectionReset, .tlsFailed, .clockNotSet, .unexpectedAnswer: true
        default: false
        }
    }

    /// Rank of the problem. Lower values are more informative.
    fileprivate var rank: Int { self == .connectionRefused ? 0 : isRefusal ? 1 : 2 }
}

/// Verdict on findings. See the table in Docs/integrator/connectivity.md.
package struct ReachVerdict: Sendable, Equatable {
    /// Result of the probe; nil if it depends on a question that could not be asked.
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
        // An open question does not matter if all its answers give the same result.
        result = possible.contains(.online) ? possible.count == 1 ? .online : nil : known
        problem = reached.problem(for: required)
        portal = internet == .captive ? reached.online.portal : nil
    }
}

private struct Reached {
    let findings: ReachFindings
    /// Verdict from the validation source and the captive portal API, without the targets.
    let online: OnlineVerdict
    let internet: InternetState

    init(_ findings: ReachFindings) {
        self.findings = findings
        online = OnlineVerdict(finding: findings.source, state: findings.portal)
        internet =
            switch (findings.proof, online.internet) {
            // A middlebox cannot present that certificate.
            case (.certified, _): .yes
            // A captive network impersonates every server.
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
            case .internet: internet == .yes || isClockToBlame
            case .target: findings.proof != nil || isServerToBlame || isClockToBlame
            }
        return isEnough ? .online : .failed
    }

    /// Whether the device cannot know, because its clock is not set.
    private var isClockToBlame: Bool { internet == .unknown && findings.targetProblem == .clockNotSet }

    /// Whether the server, not the network, is at fault, so that another network would not help. A middlebox can
    /// refuse too, so internet access must be proven. Without a validation source, only a plain RST counts, which
    /// routers rarely forge.
    private var isServerToBlame: Bool {
        guard let problem = findings.targetProblem, problem.isRefusal else { return false }
        return internet == .yes || internet == .unknown && problem == .connectionRefused
    }

    /// Problem nearest to the device, which explains the others.
    func problem(for required: ReachLevel) -> ReachProblem? {
        if isCaptive { return .captive }
        if findings.proof != nil, required != .internet || internet == .yes { return nil }
        if findings.proof == nil, findings.gateway == false, internet != .yes { return .gatewaySilent }
        return online.problem ?? findings.targetProblem
    }
}

/// Verdict from validation and the captive portal API. Only validation can prove internet access: it may be missing
/// behind an open portal. The API gives the URL of the sign-in page.
package struct OnlineVerdict: Sendable, Equatable {
    package var internet: InternetState
    /// Reason if `internet` is `no` or `captive`.
    package var problem: ReachProblem?
    /// URL of the sign-in page, from the API or else from the redirect.
    package var portal: String?

    /// - Parameters:
    ///   - finding: Nil without a validation source.
    ///   - state: Nil without an API or a valid answer.
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
