import AgentModel
import FailoverPolicy
import OnlineValidation
import Testing

@testable import Agent

/// What follows of what was found, for each level that may be required.
@Suite struct ReachVerdictTests {
    private static func verdict(
        _ required: ReachLevel, targets: ReachFindings.Targets? = nil, far: Bool = true,
        source: ValidationFinding? = nil, gateway: Bool? = nil
    ) -> ReachVerdict {
        var findings = ReachFindings(targets: targets)
        findings.targetsAreFar = far
        findings.source = source
        findings.gateway = gateway
        return ReachVerdict(findings, required: required)
    }

    @Test(arguments: [
        (true as Bool?, ProbeResult.online, ReachLevel.lan, nil as ReachProblem?),
        (false, .failed, .link, .gatewaySilent), (nil, .online, .lan, nil),
    ])
    func theGatewayDecidesForTheLAN(gateway: Bool?, result: ProbeResult, level: ReachLevel, problem: ReachProblem?) {
        let verdict = Self.verdict(.lan, gateway: gateway)
        #expect(verdict.result == result && verdict.level == level && verdict.problem == problem)
        #expect(verdict.internet == .unknown, "nobody was asked")
    }

    @Test(arguments: [
        (ValidationFinding.online, ProbeResult.online, InternetState.yes, nil as ReachProblem?),
        (.captive(portal: "http://portal/"), .captive, .captive, .captive),
        (.failed(.timedOut), .failed, .no, .timedOut), (.failed(.nameServerSilent), .failed, .no, .nameServerSilent),
    ])
    func theSourceDecidesForTheInternet(
        source: ValidationFinding, result: ProbeResult, internet: InternetState, problem: ReachProblem?
    ) {
        let verdict = Self.verdict(.internet, source: source, gateway: true)
        #expect(verdict.result == result && verdict.internet == internet && verdict.problem == problem)
        #expect(verdict.portal == (result == .captive ? "http://portal/" : nil))
    }

    @Test func aSilentGatewayExplainsWhatIsBehindIt() {
        let verdict = Self.verdict(.internet, source: .failed(.timedOut), gateway: false)
        #expect(verdict.problem == .gatewaySilent && verdict.level == .link)
        #expect(Self.verdict(.internet, source: .online, gateway: false).problem == nil, "it may not answer at all")
    }

    /// Targets, source, required level; result and level reached.
    @Test(arguments: [
        (ReachFindings.Targets.answering, nil as ValidationFinding?, ProbeResult.online, ReachLevel.target),
        (.answering, .failed(.timedOut), .online, .target), (.answering, .captive(portal: nil), .online, .target),
        // It leads there; what ails the server no other network cures.
        (.refusing(.connectionRefused), .online, .online, .internet),
        (.refusing(.connectionRefused), nil, .online, .internet),
        // Anybody in between may refuse.
        (.refusing(.connectionRefused), .failed(.timedOut), .failed, .lan),
        (.refusing(.connectionReset), .captive(portal: nil), .captive, .lan),
        (.silent(.timedOut), .online, .failed, .internet), (.silent(.timedOut), nil, .failed, .lan),
        (.silent(.timedOut), .failed(.timedOut), .failed, .lan),
        (.silent(.timedOut), .captive(portal: nil), .captive, .lan),
    ])
    func theTargetsDecideWhereTheyAreRequired(
        targets: ReachFindings.Targets, source: ValidationFinding?, result: ProbeResult, level: ReachLevel
    ) {
        let verdict = Self.verdict(.target, targets: targets, source: source, gateway: true)
        #expect(verdict.result == result, "\(verdict)")
        #expect(verdict.level == level, "\(verdict)")
        #expect((verdict.problem == nil) == (targets == .answering))
    }

    @Test func aServerInTheHouseProvesNoInternet() {
        #expect(Self.verdict(.target, targets: .answering, far: false).internet == .unknown)
        #expect(Self.verdict(.target, targets: .answering, far: true).internet == .yes)
        #expect(Self.verdict(.target, targets: .answering, far: false, source: .failed(.timedOut)).internet == .no)
    }

    @Test func theBestTargetCounts() {
        #expect(ReachFindings.Targets([.timedOut, nil, .connectionRefused]) == .answering)
        #expect(ReachFindings.Targets([.timedOut, .connectionRefused]) == .refusing(.connectionRefused))
        #expect(ReachFindings.Targets([.connectionRefused, .timedOut]) == .refusing(.connectionRefused))
        #expect(ReachFindings.Targets([.nameServerSilent]) == .silent(.nameServerSilent))
        #expect(ReachFindings.Targets([]) == nil)
    }
}
