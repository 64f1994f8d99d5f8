import AgentModel

/// What a run's outage is made of, where the device was, and where it had better been.
public struct RunExplanation: Sendable {
    private let outage: Duration
    private let timeline: Timeline
    private let best: Oracle.Outcome

    private static let outageLimit = 12
    private static let stopLimit = 40

    /// Nil for a run without a timeline.
    /// - Parameter best: the oracle's way through the same scenario with the same seed.
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
            section("WHERE IT WAS", nil, Self.shortened(stays), style),
            section("WHERE THE ORACLE WAS", "\(best.outage.inWords) of outage", Self.shortened(way), style),
        ].joined(separator: "\n\n")
    }

    private func section(_ title: String, _ summary: String?, _ lines: [String], _ style: TextStyle) -> String {
        ([style.bold(title) + (summary.map { "  \($0)" } ?? "")] + lines.map { "  \($0)" }).joined(separator: "\n")
    }

    private var outageSummary: String {
        let dead = timeline.outages.reduce(Duration.zero) { $0 + length(of: $1) }
        return "\(outage.inWords): nothing got through for \(dead.inWords), the rest was lost on bad links"
    }

    /// The longest ones, in the order of time.
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
