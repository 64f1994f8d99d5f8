import AgentModel

/// Table of the policies in one scenario. Marks the best value in each column where less is better. The oracle's values
/// get no mark.
public struct ComparisonTable: Sendable {
    private let comparison: Comparison

    public init(_ comparison: Comparison) { self.comparison = comparison }

    public func render(_ style: TextStyle) -> String {
        var table = TextTable(headings: ["POLICY"] + Self.columns.map(\.heading))
        let best = Self.columns.map(best)
        table.rows = comparison.rows.map { row in
            let figures = zip(Self.columns, best).map { column, best in
                let text = column.text(row)
                return TextTable.Cell(text, isMarked: text == best && row.policy != Self.oracle)
            }
            return [TextTable.Cell("  " + row.policy)] + figures
        }
        let runs = counted(comparison.seeds, "run", "runs") + " of " + comparison.duration.inWords
        let heading = style.bold(comparison.scenario.printable) + ": \(comparison.title.printable) (\(runs))"
        return ([heading] + table.lines(style)).joined(separator: "\n")
    }

    private static let oracle = "oracle"

    private struct Column: Sendable {
        let heading: String
        let lessIsBetter: Bool
        let value: @Sendable (Comparison.Row) -> Double

        func text(_ row: Comparison.Row) -> String { value(row).fixed(1) }
    }

    private static let columns = [
        Column(heading: "COST s/d", lessIsBetter: true, value: \.costPerDay),
        Column(heading: "+-", lessIsBetter: false) { $0.costError ?? .nan },
        Column(heading: "OUTAGE s/d", lessIsBetter: true, value: \.outagePerDay),
        Column(heading: "REGRET s/d", lessIsBetter: true, value: \.regretPerDay),
        Column(heading: "SWITCHES/d", lessIsBetter: true, value: \.switchesPerDay),
        Column(heading: "RETURNS/d", lessIsBetter: false, value: \.returnsPerDay),
        Column(heading: "ROAMS/d", lessIsBetter: false, value: \.roamsPerDay),
    ]

    /// Returns the best value as text, so that equal texts get equal marks; nil if all values are equal.
    private func best(_ column: Column) -> String? {
        let rows = comparison.rows.filter { $0.policy != Self.oracle && column.value($0).isFinite }
        guard column.lessIsBetter, Set(rows.map(column.text)).count > 1 else { return nil }
        return rows.min { column.value($0) < column.value($1) }.map(column.text)
    }
}

/// Output of `--compare --json`: `{"comparisons": [...]}`. Keys stay stable; later versions may add keys.
public struct ComparisonsDocument: Codable, Hashable, Sendable {
    public let comparisons: [ComparisonDocument]

    public init(_ comparisons: [Comparison]) { self.comparisons = comparisons.map(ComparisonDocument.init) }
}

public struct ComparisonDocument: Codable, Hashable, Sendable {
    public let scenario: String
    public let title: String
    public let seeds: Int
    public let seconds: Double
    public let policies: [Row]

    public struct Row: Codable, Hashable, Sendable {
        public let policy: String
        public let costSecondsPerDay: Double
        /// Half of the cost's 95 % confidence interval over the seeds, in seconds; null with one seed.
        public let costError: Double?
        public let outageSecondsPerDay: Double
        public let worseSecondsPerDay: Double
        public let awaySecondsPerDay: Double
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
                policy: row.policy, costSecondsPerDay: row.costPerDay, costError: row.costError,
                outageSecondsPerDay: row.outagePerDay, worseSecondsPerDay: row.worsePerDay,
                awaySecondsPerDay: row.awayPerDay, regretSecondsPerDay: row.regretPerDay,
                switchesPerDay: row.switchesPerDay, returnsPerDay: row.returnsPerDay, roamsPerDay: row.roamsPerDay)
        }
    }
}
