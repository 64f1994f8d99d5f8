/// How policies fared in one scenario, side by side. The best that no oracle made is marked in each column where less is
/// better; a return to the preferred network is neither good nor bad.
import AgentModel

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
        Column(heading: "OUTAGE s/d", lessIsBetter: true, value: \.outagePerDay),
        Column(heading: "REGRET s/d", lessIsBetter: true, value: \.regretPerDay),
        Column(heading: "SWITCHES/d", lessIsBetter: true, value: \.switchesPerDay),
        Column(heading: "RETURNS/d", lessIsBetter: false, value: \.returnsPerDay),
        Column(heading: "ROAMS/d", lessIsBetter: false, value: \.roamsPerDay),
    ]

    /// The best figure as it reads, so that what looks equal is marked alike; nil where all are equal.
    private func best(_ column: Column) -> String? {
        let rows = comparison.rows.filter { $0.policy != Self.oracle && column.value($0).isFinite }
        guard column.lessIsBetter, Set(rows.map(column.text)).count > 1 else { return nil }
        return rows.min { column.value($0) < column.value($1) }.map(column.text)
    }
}
