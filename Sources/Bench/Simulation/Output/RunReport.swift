import AgentModel
import Failover

/// Table of runs with one line per scenario and values per day.
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

    /// Results of commands. They are below the table, because few scenarios have commands.
    private var commands: [String] {
        totals.compactMap { totals in
            let sum = totals.sum
            let outcomes = [
                (sum.committed, "committed"), (sum.rolledBack, "rolled back"), (sum.failed, "failed"),
                (sum.refused, "refused"),
            ].filter { $0.0 > 0 }.map { "\($0) \($1)" }
            return outcomes.isEmpty ? nil : "\(totals.scenario.printable): commands \(outcomes.joined(separator: ", "))"
        }
    }
}

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

public struct RunTotals: Sendable {
    public let scenario: String
    public let policy: String
    /// Lowest seed of the runs.
    public private(set) var seed: UInt64
    public private(set) var runs = 1
    public private(set) var sum: RunResult

    public init(_ first: RunResult) {
        scenario = first.scenario
        policy = first.policy
        seed = first.seed
        sum = first
        sum.timeline = nil
    }

    /// - Parameter next: another run of the same scenario and policy.
    public mutating func add(_ next: RunResult) {
        runs += 1
        seed = min(seed, next.seed)
        sum.duration += next.duration
        sum.outage += next.outage
        sum.switches += next.switches
        sum.returns += next.returns
        sum.roams += next.roams
        sum.joins += next.joins
        sum.failedJoins += next.failedJoins
        sum.scans += next.scans
        sum.scanTime += next.scanTime
        sum.scanTimeOnLink += next.scanTimeOnLink
        sum.probes += next.probes
        sum.recoverySteps += next.recoverySteps
        sum.events += next.events
        sum.committed += next.committed
        sum.rolledBack += next.rolledBack
        sum.failed += next.failed
        sum.refused += next.refused
    }

    func perDay(_ amount: Double) -> Double { sum.duration > .zero ? amount * 86_400 / sum.duration.inSeconds : 0 }

    func perDay(_ count: Int) -> Double { perDay(Double(count)) }

    /// Returns a time's share of the total duration, 0 to 1.
    func share(_ time: Duration) -> Double { sum.duration > .zero ? time / sum.duration : 0 }
}

/// Explains a run: lists its outages, the access points in use, and the oracle's access points.
public struct RunExplanation: Sendable {
    private let outage: Duration
    private let timeline: Timeline
    private let best: Oracle.Outcome

    private static let outageLimit = 12
    private static let stopLimit = 40

    /// Creates an explanation. Returns nil for a run without a timeline.
    /// - Parameter best: the oracle's result with the same scenario and seed.
    public init?(of run: RunResult, best: Oracle.Outcome) {
        guard let timeline = run.timeline else { return nil }
        outage = run.outage
        self.timeline = timeline
        self.best = best
    }

    public func render(_ style: TextStyle) -> String {
        let stays = timeline.stays.map { stay in
            "\(stay.time.lowerBound.clockWithTenths)  \(name(of: stay.accessPoint)) for \(length(of: stay.time).inWords)"
        }
        let way = best.way.map { "\($0.arrival.clockWithTenths)  \(name(of: $0.accessPoint))" }
        return [
            section("OUTAGE", outageSummary, outages, style),
            section("ACCESS POINTS IN USE", nil, Self.shortened(stays), style),
            section("ACCESS POINTS OF THE ORACLE", "\(best.outage.inWords) of outage", Self.shortened(way), style),
        ].joined(separator: "\n\n")
    }

    private func section(_ title: String, _ summary: String?, _ lines: [String], _ style: TextStyle) -> String {
        ([style.bold(title) + (summary.map { "  \($0)" } ?? "")] + lines.map { "  \($0)" }).joined(separator: "\n")
    }

    private var outageSummary: String {
        let dead = timeline.outages.reduce(Duration.zero) { $0 + length(of: $1) }
        return "\(outage.inWords): nothing got through for \(dead.inWords), the rest was lost on bad links"
    }

    private var outages: [String] {
        let longest = timeline.outages.sorted { length(of: $0) > length(of: $1) }.prefix(Self.outageLimit)
        let lines = longest.sorted { $0.lowerBound < $1.lowerBound }.map {
            "\($0.lowerBound.clockWithTenths)  \(length(of: $0).inWords)"
        }
        return lines + Self.more(timeline.outages.count - lines.count, "shorter")
    }

    private func length(of time: Range<Duration>) -> Duration { time.upperBound - time.lowerBound }

    private func name(of accessPoint: Int) -> String {
        timeline.signals.indices.contains(accessPoint) ? timeline.signals[accessPoint].accessPoint.printable : "nowhere"
    }

    private static func shortened(_ lines: [String]) -> [String] {
        lines.prefix(stopLimit) + more(lines.count - stopLimit, "more")
    }

    private static func more(_ count: Int, _ what: String) -> [String] { count > 0 ? ["and \(count) \(what)"] : [] }
}
