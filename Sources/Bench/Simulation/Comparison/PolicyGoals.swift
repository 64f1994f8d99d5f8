public struct PolicyGoals: Sendable {
    public struct ScenarioScore: Sendable, Hashable, Encodable {
        public let scenario: String
        /// Ratios of altnet's cost: first with the measure, then with each variant of the measure.
        public let costs: [CostRatios]
        /// Ratio of altnet's outage to the outage of the peer with the least outage.
        public let outageOverBestPeer: Double
        /// Name of the peer with the least outage.
        public let leastOutagePeer: String
        /// Whether the scenario has a weak signal or no internet access.
        public let isHard: Bool
        public let switches: Double
        public let returns: Double
        public let oracleSwitches: Double

        var cost: CostRatios { costs[0] }
    }

    public struct Goal: Sendable, Hashable, Encodable {
        public let name: String
        public let wanted: String
        public let reached: String
        public let isMet: Bool
        /// Scenarios that miss the goal, worst first, with their values.
        public let furthest: [String]
    }

    /// Seconds per pass that are added to both sides of a ratio. Without them, a ratio to a cost near 0 has no meaning.
    public static let grace = 0.5

    private static let overBestPeer = 1.05

    public let scores: [ScenarioScore]
    private let isRandom: Bool
    /// Maximum ratios to the cost of the oracle without foresight, for the median and the worst scenario.
    private let overReacting: (median: Double, worst: Double)

    /// - Parameters:
    ///   - hard: names of the scenarios with a weak signal or no internet access.
    ///   - isRandom: whether the scenarios are random. One in a hundred may then miss the goal against peers.
    ///   - hasSecondStation: whether altnet has a second station, unlike the oracle. The goals are then stricter.
    public init(
        of comparisons: [Comparison], hard: Set<String>, isRandom: Bool = false, hasSecondStation: Bool = false
    ) {
        self.isRandom = isRandom
        overReacting = hasSecondStation ? (1.1, 1.5) : (1.3, 2.5)
        scores = comparisons.compactMap { ScenarioScore($0, isHard: hard.contains($0.scenario)) }
    }

    public var goals: [Goal] {
        variants.enumerated().map { index, name in everyPeer(index, name) }
            + variants.enumerated().flatMap { index, name in [medianReacting(index, name), worstReacting(index, name)] }
            + [hardScenarios, everyPeersOutage]
            + [
                switches("switches", \.switches),
                switches("switches other than returns to the preferred network") { $0.switches - $0.returns },
            ]
    }

    /// Names of the measure and of the variants for which all scenarios have ratios.
    private var variants: [String] {
        let count = scores.map(\.costs.count).min() ?? 0
        return scores.first.map { $0.costs.prefix(count).map(\.measure) } ?? []
    }

    private static func name(_ measure: String) -> String {
        measure == CostRatios.committed ? "cost" : "cost (\(measure))"
    }

    private func everyPeer(_ index: Int, _ measure: String) -> Goal {
        let far = scores.filter { $0.costs[index].overBestPeer > Self.overBestPeer }
            .sorted { $0.costs[index].overBestPeer > $1.costs[index].overBestPeer }
        let share = 1 - Double(far.count) / Double(max(scores.count, 1))
        let errors = scores.compactMap { $0.costs[index].error }
        let certain = scores.count { score in
            let ratio = score.costs[index]
            return ratio.error.map { ratio.overBestPeer - $0 > Self.overBestPeer } ?? false
        }
        return Goal(
            name: "\(Self.name(measure)) over the best peer's, \(isRandom ? "99 % of scenarios" : "every scenario")",
            wanted: "at most \(Self.overBestPeer.fixed(2))",
            reached: "\((scores.map { $0.costs[index].overBestPeer }.max() ?? 1).fixed(2)) at worst, kept in "
                + "\(scores.count - far.count) of \(scores.count)"
                + (errors.isEmpty ? "" : ", missed beyond the confidence interval in \(certain)"),
            isMet: isRandom ? share >= 0.99 : far.isEmpty,
            furthest: far.map { score in
                let ratio = score.costs[index]
                let error = ratio.error.map { " +-\($0.fixed(2))" } ?? ""
                return "\(score.scenario) \(ratio.overBestPeer.fixed(2))\(error) (\(ratio.bestPeer))"
            })
    }

    private func medianReacting(_ index: Int, _ measure: String) -> Goal {
        let ratios = scores.map { $0.costs[index].overReacting }.sorted()
        let median = ratios.isEmpty ? 1 : ratios[ratios.count / 2]
        return Goal(
            name: "\(Self.name(measure)) over the reacting oracle's, median scenario",
            wanted: "at most \(overReacting.median.fixed(1))", reached: median.fixed(2),
            isMet: median <= overReacting.median, furthest: [])
    }

    private func worstReacting(_ index: Int, _ measure: String) -> Goal {
        let far = scores.filter { $0.costs[index].overReacting > overReacting.worst }
            .sorted { $0.costs[index].overReacting > $1.costs[index].overReacting }
        return Goal(
            name: "\(Self.name(measure)) over the reacting oracle's, worst scenario",
            wanted: "at most \(overReacting.worst.fixed(1))",
            reached: (scores.map { $0.costs[index].overReacting }.max() ?? 1).fixed(2), isMet: far.isEmpty,
            furthest: far.map { "\($0.scenario) \($0.costs[index].overReacting.fixed(2))" })
    }

    private var hardScenarios: Goal {
        let hard = scores.filter(\.isHard)
        let far = hard.filter { $0.outageOverBestPeer > 0.2 }.sorted { $0.outageOverBestPeer > $1.outageOverBestPeer }
        let best = hard.map { 1 / $0.outageOverBestPeer }.min() ?? .infinity
        return Goal(
            name: "best peer's outage over altnet's, weak signal or dead internet", wanted: "at least 5",
            reached: "\(best.fixed(2)) at the least, in \(hard.count - far.count) of \(hard.count) it is",
            isMet: far.isEmpty,
            furthest: far.map { "\($0.scenario) \((1 / $0.outageOverBestPeer).fixed(2)) (\($0.leastOutagePeer))" })
    }

    private var everyPeersOutage: Goal {
        let far = scores.filter { $0.outageOverBestPeer > Self.overBestPeer }
            .sorted { $0.outageOverBestPeer > $1.outageOverBestPeer }
        return Goal(
            name: "outage over the best peer's, every scenario", wanted: "at most \(Self.overBestPeer.fixed(2))",
            reached: (scores.map(\.outageOverBestPeer).max() ?? 1).fixed(2), isMet: far.isEmpty,
            furthest: far.map { "\($0.scenario) \($0.outageOverBestPeer.fixed(2)) (\($0.leastOutagePeer))" })
    }

    /// Returns the goal for a number of switches. Allows half a switch per pass more, as counts are means over seeds.
    private func switches(_ name: String, _ count: (ScenarioScore) -> Double) -> Goal {
        let far = scores.filter { count($0) > 1.5 * $0.oracleSwitches + 0.5 }.sorted {
            count($0) - 1.5 * $0.oracleSwitches > count($1) - 1.5 * $1.oracleSwitches
        }
        let mine = scores.map(count).reduce(0, +)
        let best = scores.map(\.oracleSwitches).reduce(0, +)
        return Goal(
            name: "\(name) over the oracle's switches", wanted: "at most 1.5",
            reached: "\((mine / max(best, 1)).fixed(2)) in all, in \(scores.count - far.count) of "
                + "\(scores.count) scenarios",
            isMet: far.isEmpty,
            furthest: far.map { "\($0.scenario) \(count($0).fixed(2)) to \($0.oracleSwitches.fixed(2))" })
    }
}

extension PolicyGoals.ScenarioScore {
    fileprivate init?(_ comparison: Comparison, isHard: Bool) {
        let rows = comparison.rows
        let peers = rows.filter { row in Peer.all.contains { $0.name == row.policy } }
        guard let altnet = rows.first(where: { $0.policy == Comparison.altnet }),
            let oracle = rows.first(where: { $0.policy == Comparison.oracle }), !comparison.ratios.isEmpty,
            let best = peers.min(by: { $0.outagePerDay < $1.outagePerDay })
        else { return nil }
        let passes = 86_400 / comparison.duration.inSeconds
        func weighed(_ outagePerDay: Double) -> Double { outagePerDay / passes + PolicyGoals.grace }
        self.init(
            scenario: comparison.scenario, costs: comparison.ratios,
            outageOverBestPeer: weighed(altnet.outagePerDay) / weighed(best.outagePerDay),
            leastOutagePeer: best.policy, isHard: isHard,
            switches: altnet.switchesPerDay / passes, returns: altnet.returnsPerDay / passes,
            oracleSwitches: oracle.switchesPerDay / passes)
    }
}

extension PolicyGoals {
    /// Returns the scores and goals as text for a terminal.
    /// - Parameter limit: maximum number of scenarios, worst first; nil for all.
    public func render(_ style: TextStyle, limit: Int?) -> String {
        var table = TextTable(headings: [
            "SCENARIO", "TO BEST PEER", "+-", "BEST PEER", "REACTING", "TO ORACLE", "OUTAGE TO BEST", "SWITCHES",
            "RETURNS", "ORACLE'S",
        ])
        table.rows = scores.sorted { $0.cost.overBestPeer > $1.cost.overBestPeer }.prefix(limit ?? scores.count).map {
            score in
            [
                .init("  " + score.scenario + (score.isHard ? " +" : "")), .init(score.cost.overBestPeer.fixed(2)),
                .init(score.cost.error?.fixed(2) ?? "-"), .init(score.cost.bestPeer),
                .init(score.cost.overReacting.fixed(2)), .init(score.cost.overOracle?.fixed(2) ?? "-"),
                .init(score.outageOverBestPeer.fixed(2)), .init(score.switches.fixed(1)),
                .init(score.returns.fixed(1)), .init(score.oracleSwitches.fixed(1)),
            ]
        }
        let heading =
            style.bold("altnet's cost over the best peer's and the oracles'") + " (+: weak signal or dead internet)"
        return ([heading] + table.lines(style) + [""] + goals.flatMap { lines($0, style, limit) }).joined(
            separator: "\n")
    }

    private func lines(_ goal: Goal, _ style: TextStyle, _ limit: Int?) -> [String] {
        let verdict = goal.isMet ? style.green("met    ") : "not met"
        return ["\(verdict)  \(goal.name): \(goal.reached) (wanted: \(goal.wanted))"]
            + (goal.furthest.isEmpty ? [] : ["         " + goal.furthest.prefix(limit ?? .max).joined(separator: ", ")])
    }
}
