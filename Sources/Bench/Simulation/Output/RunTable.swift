import AgentModel
import Failover

/// Runs side by side, a line for each scenario: what a device would do and suffer in a day.
public struct RunTable: Sendable {
    private let totals: [RunTotals]

    public init(_ totals: [RunTotals]) { self.totals = totals }

    public func render(_ style: TextStyle) -> String {
        var table = TextTable(headings: [
            "SCENARIO", "TIME", "OUTAGE", "OUTAGE/D", "SWITCHES/D", "RETURNS/D", "ROAMS/D", "JOINS/D", "FAILED/D",
            "SCANS/D",
            "AIR %", "PROBES/D", "EVENTS/H",
        ])
        table.rows = totals.map(Self.row)
        return (table.lines(style) + commands).joined(separator: "\n")
    }

    private static func row(_ totals: RunTotals) -> [TextTable.Cell] {
        let sum = totals.sum
        let counts = [sum.switches, sum.returns, sum.roams, sum.joins, sum.failedJoins, sum.scans]
        return [
            .init(totals.scenario), .init(sum.duration.inWords), .init(sum.outage.inWords),
            .init(totals.perDay(sum.outage.inSeconds).fixed(1) + " s"),
        ] + counts.map { .init(totals.perDay($0).fixed(1)) } + [
            .init((totals.share(sum.scanTime) * 100).fixed(2)), .init(totals.perDay(sum.probes).fixed(0)),
            .init((totals.perDay(sum.events) / 24).fixed(1)),
        ]
    }

    /// Only few scenarios have commands, so these are no columns.
    private var commands: [String] {
        totals.compactMap { totals in
            let sum = totals.sum
            let outcomes = [(sum.committed, "committed"), (sum.rolledBack, "rolled back"), (sum.failed, "failed")]
                .filter { $0.0 > 0 }.map { "\($0) \($1)" }
            return outcomes.isEmpty ? nil : "\(totals.scenario.printable): commands \(outcomes.joined(separator: ", "))"
        }
    }
}

/// The decisions of one run as lines, with their reasons.
public struct DecisionList: Sendable {
    private let decisions: [PolicyDecision]
    private static let limit = 200

    public init(_ timeline: Timeline) { decisions = timeline.decisions }

    public func render(_ style: TextStyle) -> String {
        let lines = decisions.prefix(Self.limit).map { decision in
            let time = Duration.milliseconds(decision.at.milliseconds)
            return style.faint("  \(time.clockWithTenths)") + "  \(decision.text.printable)"
        }
        let more = decisions.count - lines.count
        return (lines + (more > 0 ? ["  and \(more) more"] : [])).joined(separator: "\n")
    }
}
