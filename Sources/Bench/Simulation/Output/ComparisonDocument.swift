/// What `--compare --json` prints: `{"comparisons": [...]}`. Keys stay what they are; new ones may come.
import AgentModel

public struct ComparisonsDocument: Codable, Hashable, Sendable {
    public let comparisons: [ComparisonDocument]

    public init(_ comparisons: [Comparison]) { self.comparisons = comparisons.map(ComparisonDocument.init) }
}

/// How policies fared in one scenario: means over several seeds, altnet first and the oracle last.
public struct ComparisonDocument: Codable, Hashable, Sendable {
    public let scenario: String
    public let title: String
    public let seeds: Int
    /// The length of one pass.
    public let seconds: Double
    public let policies: [Row]

    public struct Row: Codable, Hashable, Sendable {
        public let policy: String
        public let outageSecondsPerDay: Double
        public let regretSecondsPerDay: Double
        public let switchesPerDay: Double
        public let returnsPerDay: Double
        public let roamsPerDay: Double
    }

    init(_ comparison: Comparison) {
        scenario = comparison.scenario.printable
        title = comparison.title.printable
        seeds = comparison.seeds
        seconds = comparison.duration.inSeconds
        policies = comparison.rows.map { row in
            Row(
                policy: row.policy, outageSecondsPerDay: row.outagePerDay, regretSecondsPerDay: row.regretPerDay,
                switchesPerDay: row.switchesPerDay, returnsPerDay: row.returnsPerDay, roamsPerDay: row.roamsPerDay)
        }
    }
}
