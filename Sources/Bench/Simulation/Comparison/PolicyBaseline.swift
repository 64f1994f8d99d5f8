import AgentModel
import Failover
import FoundationEssentials

/// Output of `altnet-lab bench-policy --json`. Keys stay stable; later versions may add keys.
public struct PolicyReport: Encodable, Sendable {
    /// Number of the first random scenario; null for other scenarios.
    public let seed: UInt64?
    public let comparisons: [ComparisonDocument]
    public let standings: [PolicyGoals.ScenarioScore]
    public let goals: [PolicyGoals.Goal]

    public init(_ comparisons: [Comparison], _ goals: PolicyGoals, firstRandom: UInt64?) {
        seed = firstRandom
        self.comparisons = ComparisonsDocument(comparisons).comparisons
        standings = goals.scores
        self.goals = goals.goals
    }
}

/// Costs of an earlier run, read from its `PolicyReport`.
public struct PolicyBaseline: Sendable {
    let scores: [String: PolicyGoals.ScenarioScore]

    private struct Document: Decodable {
        let seed: UInt64?
        let standings: [PolicyGoals.ScenarioScore]
    }

    /// - Parameters:
    ///   - scenarios: names of this run's scenarios.
    ///   - seeds: seeds of each scenario's passes.
    public init(contentsOf file: String, scenarios: [String], seeds: [UInt64]) throws(BaselineError) {
        let bytes: [UInt8]
        do throws(RecordError) { bytes = try RecordReader.content(of: file) } catch { throw .unreadable(error) }
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(bytes)),
            let passes = document.standings.first?.costs.first?.passes,
            document.standings.allSatisfy({ $0.costs.first?.passes.map(\.seed) == passes.map(\.seed) })
        else { throw .notAReport(file: file) }
        let names = document.standings.map(\.scenario)
        let arguments = Self.arguments(names, first: document.seed, passes: passes.count)
        if Set(names) != Set(scenarios) { throw .otherScenarios(file: file, arguments: arguments) }
        if passes.map(\.seed) != seeds { throw .otherSeeds(file: file, arguments: arguments) }
        scores = Dictionary(document.standings.map { ($0.scenario, $0) }) { first, _ in first }
    }

    /// Returns the arguments that repeat the earlier run.
    private static func arguments(_ names: [String], first: UInt64?, passes: Int) -> String {
        let seeds = "--seeds \(passes)"
        if let first { return "--random \(names.count) --seed \(first) \(seeds)" }
        if Set(names) == Set(ScenarioLibrary.names) { return seeds }
        return (names.prefix(5) + (names.count > 5 ? ["and \(names.count - 5) more"] : []) + [seeds])
            .joined(separator: " ")
    }
}

/// Why an earlier run cannot be compared with this one.
public enum BaselineError: Error, Equatable, CustomStringConvertible {
    case unreadable(RecordError)
    case notAReport(file: String)
    /// - Parameter arguments: arguments of `bench-policy` that repeat the earlier run.
    case otherScenarios(file: String, arguments: String)
    case otherSeeds(file: String, arguments: String)

    public var description: String {
        switch self {
        case .unreadable(let error): "\(error)"
        case .notAReport(let file):
            "no costs of passes in the file. Write it with the other policy's 'altnet-lab bench-policy --json': \(file)"
        case .otherScenarios(let file, let arguments):
            "\(file) is of other scenarios. Write it again, or use its arguments: \(arguments)"
        case .otherSeeds(let file, let arguments):
            "\(file) is of other seeds. Write it again, or use its arguments: \(arguments)"
        }
    }
}
