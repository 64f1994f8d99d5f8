import AgentModel
import Failover
import Foundation
import Testing

@testable import AgentCore

/// Every code in a decision is one that Docs/protocol.schema.json lists.
@Suite struct ReasonCodeTests {
    private static let failures = JoinFailure.allCases

    // covers: seed/why-switched
    @Test func everyReasonIsDocumented() throws {
        let causes: [PolicyDecision.Cause] =
            [
                .start, .linkFound, .linkLost, .weak, .fading, .congested, .critical, .steered, .steeredTooOften,
                .preferred,
                .standby, .commanded, .rollback, .retry, .lastResort, .noCandidate, .interfaceDown,
                .supplicantUnavailable,
            ] + Self.failures.map { .failure($0) }
        #expect(Set(causes.map(\.code.rawValue)) == Set(try listed("reason") + Self.failures.map(\.rawValue)))
    }

    @Test func everyVerdictIsDocumented() throws {
        let verdicts: [PolicyDecision.Verdict] = [
            .chosen, .current, .outranked, .notSeen, .belowFloor, .withinMargin(3),
        ]
        #expect(Set(verdicts.map(\.code.rawValue)) == Set(try listed("verdict")))
        let pattern = try #require(try alternatives("verdict").last?["pattern"] as? String)
        for failure in Self.failures {
            for verdict in [
                PolicyDecision.Verdict.blocked(failure, until: .now), .unusable(failure, until: .now),
                .refused(failure),
            ] {
                #expect(verdict.code.rawValue.range(of: pattern, options: .regularExpression) != nil)
            }
        }
    }

    private func listed(_ definition: String) throws -> [String] {
        try #require(try alternatives(definition).first?["enum"] as? [String])
    }

    private func alternatives(_ definition: String) throws -> [[String: Any]] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Docs/protocol.schema.json")
        let schema = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        let definitions = schema?["$defs"] as? [String: [String: Any]]
        return try #require(definitions?[definition]?["anyOf"] as? [[String: Any]])
    }
}
