import AgentModel
import Connectivity
import Failover

/// What follows of what was found; Docs/validation.md has the table.
struct ReachVerdict: Sendable, Equatable {
    /// Nil where it depends on an answer that could not be asked for.
    let result: ProbeResult?
    let level: ReachLevel
    let internet: InternetState
    let problem: ReachProblem?
    let portal: String?

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
