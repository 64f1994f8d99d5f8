import AgentModel
import Failover
import Foundation
import Testing

@testable import AgentCore

/// The verdict on the findings, for each level that may be required, row by row of Docs/integrator/connectivity.md.
@Suite struct ReachVerdictTests {
    /// A row of the table.
    struct Row: Sendable, CustomTestStringConvertible {
        let text: String
        let target: [ReachFindings.Answer?]
        let network: [Network]
        let internet: InternetState?
        let level: ReachLevel?
        /// With `lan`, `internet` and `target` required.
        let results: [ProbeResult?]

        var testDescription: String { text }
    }

    /// The word of the source, or of the network itself.
    struct Network: Sendable, Hashable {
        var source: String
        var isCaptive: Bool?

        var finding: ValidationFinding? {
            switch source {
            case "online": .online
            case "captive": .captive(portal: nil)
            case "failed": .failed(.timedOut)
            default: nil
            }
        }
    }

    private static let targets: [(String, [ReachFindings.Answer?])] = [
        ("answers in the internet, with its certificate", [.answers(.certified)]),
        ("answers in the internet", [.answers(.far)]),
        ("answers in the house", [.answers(.near)]),
        ("refuses", [.problem(.connectionRefused)]),
        ("answers otherwise", [.problem(.connectionReset), .problem(.tlsFailed), .problem(.unexpectedAnswer)]),
        ("the clock is not set", [.problem(.clockNotSet)]),
        ("silent, or there is none", [nil, .problem(.timedOut), .problem(.nameServerSilent), .problem(.unreachable)]),
    ]
    private static let networks: [(String, [Network])] = [
        ("online", [false, true, nil].map { Network(source: "online", isCaptive: $0) }),
        (
            "captive",
            [false, true, nil].map { Network(source: "captive", isCaptive: $0) } + [
                Network(source: "failed", isCaptive: true), Network(source: "nobody", isCaptive: true),
            ]
        ),
        ("failed", [false, nil].map { Network(source: "failed", isCaptive: $0) }),
        ("no source", [false, nil].map { Network(source: "nobody", isCaptive: $0) }),
    ]

    private static let rows: [Row] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Docs/integrator/connectivity.md")
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let head = lines.firstIndex(where: { $0.hasPrefix("| A target | ") }) else { return [] }
        return lines[(head + 2)...].prefix { $0.hasPrefix("|") }.map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return Row(
                text: String(line),
                target: targets.filter { cells[0] == $0.0 || cells[0] == "any other" && $0.0 != targets[0].0 }
                    .flatMap(\.1),
                network: networks.filter { cells[1].contains($0.0) || cells[1] == "anything" }.flatMap(\.1),
                internet: InternetState(rawValue: cells[2]), level: ReachLevel(rawValue: cells[3]),
                results: cells[4...6].map { ProbeResult(rawValue: $0) })
        }
    }()

    private static func verdict(
        _ required: ReachLevel, _ targets: ReachFindings.Answer?..., source: ValidationFinding? = nil,
        portal: Bool? = nil, gateway: Bool? = true, open: ReachFindings.Open = []
    ) -> ReachVerdict {
        var findings = ReachFindings(source: source, portal: portal.map { CaptiveState(isCaptive: $0) })
        for (index, answer) in targets.enumerated() { findings.targets["\(index)"] = answer }
        (findings.gateway, findings.open) = (gateway, open)
        return ReachVerdict(findings, required: required)
    }

    // covers: rule/probe-lan, rule/probe-internet, rule/probe-target
    @Test(arguments: rows) func isAsDocumented(row: Row) {
        #expect(!row.target.isEmpty && !row.network.isEmpty && row.internet != nil && row.level != nil)
        for target in row.target {
            for network in row.network {
                for (required, result) in zip([ReachLevel.lan, .internet, .target], row.results) {
                    let verdict = Self.verdict(required, target, source: network.finding, portal: network.isCaptive)
                    let found = "\(String(describing: target)), \(network), \(required): \(verdict)"
                    #expect(verdict.internet == row.internet && verdict.level == row.level, "\(found)")
                    #expect(verdict.result == result && result != nil, "\(found)")
                }
                let link = Self.verdict(.link, target, source: network.finding, portal: network.isCaptive)
                #expect(link.result == .online)
            }
        }
    }

    /// Nothing is told twice, and nothing is left out.
    @Test func everythingIsInTheTable() {
        for (name, targets) in Self.targets {
            for (kind, networks) in Self.networks {
                let fitting = Self.rows.filter { row in
                    targets.allSatisfy { row.target.contains($0) } && networks.allSatisfy { row.network.contains($0) }
                }
                #expect(fitting.count == 1, "\(name), \(kind)")
            }
        }
    }

    // MARK: The gateway

    // covers: rule/probe-lan
    @Test(arguments: [
        (true as Bool?, ProbeResult.online, ReachLevel.lan, nil as ReachProblem?),
        (false, .failed, .link, .gatewaySilent), (nil, .online, .lan, nil),
    ])
    func theGatewayDecidesForTheLAN(gateway: Bool?, result: ProbeResult, level: ReachLevel, problem: ReachProblem?) {
        let verdict = Self.verdict(.lan, gateway: gateway)
        #expect(verdict.result == result && verdict.level == level && verdict.problem == problem)
        #expect(verdict.internet == .unknown, "no source was asked")
    }

    @Test func aSilentGatewayExplainsWhatIsBehindIt() {
        let verdict = Self.verdict(.internet, source: .failed(.timedOut), gateway: false)
        #expect(verdict.problem == .gatewaySilent && verdict.level == .link)
        #expect(Self.verdict(.internet, source: .online, gateway: false).problem == nil, "it may not answer at all")
        #expect(Self.verdict(.lan, source: .online, gateway: false).result == .online)
        #expect(Self.verdict(.lan, .problem(.connectionRefused), gateway: false).level == .lan, "a host is there")
        #expect(Self.verdict(.lan, source: .captive(portal: nil), gateway: false).result == .captive)
    }

    // MARK: Several targets

    @Test func theBestTargetCounts() {
        #expect(Self.verdict(.target, .problem(.timedOut), .answers(.far)).internet == .yes)
        #expect(Self.verdict(.target, .answers(.near), .answers(.certified)).internet == .yes)
        #expect(Self.verdict(.target, .problem(.timedOut), .problem(.connectionRefused)).result == .online)
        #expect(Self.verdict(.target, .problem(.tlsFailed), .problem(.connectionRefused)).result == .online)
        #expect(Self.verdict(.target, .problem(.timedOut), .problem(.tlsFailed)).problem == .tlsFailed)
    }

    /// A server in the house says nothing of one in the internet that is silent.
    @Test func onlyThoseThatAnsweredSayHowFarItLeads() {
        let verdict = Self.verdict(.internet, .answers(.near), .problem(.timedOut), source: .failed(.nameServerSilent))
        #expect(verdict.internet == .no && verdict.result == .failed && verdict.problem == .nameServerSilent)
        #expect(Self.verdict(.target, .answers(.near), .problem(.timedOut)).internet == .unknown)
        #expect(Self.verdict(.internet, .answers(.near), .problem(.timedOut)).problem == .timedOut)
    }

    // MARK: Words

    @Test func whereToSignInIsToldWhileItHasToBe() {
        let source = ValidationFinding.captive(portal: "http://portal/")
        #expect(Self.verdict(.internet, source: source).portal == "http://portal/")
        #expect(Self.verdict(.internet, source: source).problem == .captive)
        #expect(Self.verdict(.internet, .answers(.certified), source: source).portal == nil)
    }

    @Test(arguments: [ReachProblem.timedOut, .nameServerSilent])
    func theSourceSaysWhy(problem: ReachProblem) {
        #expect(Self.verdict(.internet, source: .failed(problem)).problem == problem)
        #expect(Self.verdict(.target, .problem(.connectionRefused), source: .online).problem == .connectionRefused)
    }

    // MARK: Questions that could not be asked

    /// The required level, the target, the open questions, and the verdict on them.
    @Test(arguments: [
        // For every answer of the source.
        (
            ReachLevel.target, ReachFindings.Answer.answers(.certified) as ReachFindings.Answer?,
            ProbeResult.online as ProbeResult?
        ),
        (.internet, .answers(.certified), .online), (.lan, .answers(.certified), .online),
        (.target, .problem(.timedOut), .failed), (.target, nil, .failed),
        // It would matter.
        (.target, .answers(.far), nil), (.target, .answers(.near), nil), (.target, .problem(.connectionRefused), nil),
        (.internet, .answers(.far), nil), (.internet, .problem(.timedOut), nil), (.internet, nil, nil),
        (.lan, .answers(.near), nil), (.lan, nil, nil),
    ])
    func whatIsOpenMayDecide(required: ReachLevel, target: ReachFindings.Answer?, result: ProbeResult?) {
        for last in [nil, ValidationFinding.online, .captive(portal: nil), .failed(.timedOut)] {
            let verdict = Self.verdict(required, target, source: last, open: .source)
            if result == .failed, last == .captive(portal: nil) {
                #expect(verdict.result == .captive, "what was seen last")
            } else {
                #expect(verdict.result == result, "\(String(describing: last))")
            }
        }
        #expect(Self.verdict(.link, target, open: .source).result == .online)
    }

    @Test func aTargetStillAskedMayDecide() {
        #expect(Self.verdict(.lan, gateway: nil, open: .gateway).result == nil)
        #expect(Self.verdict(.lan, source: .online, gateway: nil, open: .gateway).result == .online)
        #expect(Self.verdict(.target, source: .online, open: .targets).result == nil)
        #expect(Self.verdict(.internet, source: .online, open: [.targets, .gateway, .portal]).result == .online)
        #expect(Self.verdict(.lan, open: .portal).result == nil, "it may be captive")
        #expect(Self.verdict(.internet, source: .failed(.timedOut), open: .targets).result == nil)
        #expect(Self.verdict(.internet, source: .failed(.timedOut), open: .gateway).result == .failed)
    }
}
