/// The goals of altnet's policy over a library of scenarios, and how near it is.
public struct PolicyGoals: Sendable {
    /// One scenario's figures, by pass.
    public struct ScenarioScore: Sendable, Hashable, Encodable {
        public let scenario: String
        /// altnet's outage over the oracle's.
        public let overOracle: Double
        /// The same over that of an oracle that begins at home and does not foresee what comes suddenly.
        public let overReacting: Double?
        /// altnet's outage over that of the peer that fared best, and its name.
        public let overBestPeer: Double
        public let bestPeer: String
        /// Whether the scenario is about weak signal or dead internet.
        public let isHard: Bool
        /// By pass.
        public let switches: Double
        public let returns: Double
        public let oracleSwitches: Double
    }

    public struct Goal: Sendable, Hashable, Encodable {
        public let name: String
        public let wanted: String
        public let reached: String
        public let isMet: Bool
        /// The scenarios that are furthest from it, the worst first.
        public let furthest: [String]
    }

    /// If the optimum loses next to nothing, a ratio says nothing: so much is added to both sides of it for every pass,
    /// in seconds.
    public static let grace = 0.5

    public let scores: [ScenarioScore]

    /// - Parameter hard: names of the scenarios that are about weak signal or dead internet.
    public init(of comparisons: [Comparison], hard: Set<String>) {
        scores = comparisons.compactMap { ScenarioScore($0, isHard: hard.contains($0.scenario)) }
    }

    public var goals: [Goal] {
        [medianOutage, worstOutage, hardScenarios, everyPeer]
            + [
                switches("switches", \.switches),
                switches("switches that are no return to the preferred network") { $0.switches - $0.returns },
            ]
    }

    private var medianOutage: Goal {
        let ratios = scores.map(\.overOracle).sorted()
        let median = ratios.isEmpty ? 1 : ratios[ratios.count / 2]
        return Goal(
            name: "outage over the oracle's, median scenario", wanted: "at most 1.25", reached: median.fixed(2),
            isMet: median <= 1.25, furthest: [])
    }

    private var worstOutage: Goal {
        let far = scores.filter { $0.overOracle > 2 }.sorted { $0.overOracle > $1.overOracle }
        return Goal(
            name: "outage over the oracle's, worst scenario", wanted: "at most 2",
            reached: (scores.map(\.overOracle).max() ?? 1).fixed(2), isMet: far.isEmpty,
            furthest: far.map { "\($0.scenario) \($0.overOracle.fixed(2))" })
    }

    private var hardScenarios: Goal {
        let hard = scores.filter(\.isHard)
        let far = hard.filter { $0.overBestPeer > 0.2 }.sorted { $0.overBestPeer > $1.overBestPeer }
        let best = hard.map { 1 / $0.overBestPeer }.min() ?? .infinity
        return Goal(
            name: "best peer's outage over altnet's, weak signal or dead internet", wanted: "at least 5",
            reached: "\(best.fixed(2)) at the least, in \(hard.count - far.count) of \(hard.count) it is",
            isMet: far.isEmpty,
            furthest: far.map { "\($0.scenario) \((1 / $0.overBestPeer).fixed(2)) (\($0.bestPeer))" })
    }

    private var everyPeer: Goal {
        let far = scores.filter { $0.overBestPeer > 1.05 }.sorted { $0.overBestPeer > $1.overBestPeer }
        return Goal(
            name: "outage over the best peer's, every scenario", wanted: "at most 1.05",
            reached: (scores.map(\.overBestPeer).max() ?? 1).fixed(2), isMet: far.isEmpty,
            furthest: far.map { "\($0.scenario) \($0.overBestPeer.fixed(2)) (\($0.bestPeer))" })
    }

    /// Less than half a switch a pass is no fault: the mean over seeds.
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
    /// Nil where altnet or the oracle is missing.
    fileprivate init?(_ comparison: Comparison, isHard: Bool) {
        let rows = comparison.rows
        let peers = rows.filter { row in Peer.all.contains { $0.name == row.policy } }
        guard let altnet = rows.first(where: { $0.policy == Comparison.altnet }),
            let oracle = rows.first(where: { $0.policy == Comparison.oracle }),
            let best = peers.min(by: { $0.outagePerDay < $1.outagePerDay })
        else { return nil }
        let passes = 86_400 / comparison.duration.inSeconds
        func weighed(_ outagePerDay: Double) -> Double { outagePerDay / passes + PolicyGoals.grace }
        let outage = weighed(altnet.outagePerDay)
        self.init(
            scenario: comparison.scenario, overOracle: outage / weighed(oracle.outagePerDay),
            overReacting: comparison.reactingOutagePerDay.map { outage / weighed($0) },
            overBestPeer: outage / weighed(best.outagePerDay), bestPeer: best.policy, isHard: isHard,
            switches: altnet.switchesPerDay / passes, returns: altnet.returnsPerDay / passes,
            oracleSwitches: oracle.switchesPerDay / passes)
    }
}

extension PolicyGoals {
    /// Each scenario's score and the goals, for a terminal.
    public func render(_ style: TextStyle) -> String {
        var table = TextTable(headings: [
            "SCENARIO", "TO ORACLE", "REACTING", "TO BEST PEER", "BEST PEER", "SWITCHES", "RETURNS", "ORACLE'S",
        ])
        table.rows = scores.sorted { $0.overOracle > $1.overOracle }.map { score in
            [
                .init("  " + score.scenario + (score.isHard ? " +" : "")), .init(score.overOracle.fixed(2)),
                .init(score.overReacting?.fixed(2) ?? "-"), .init(score.overBestPeer.fixed(2)),
                .init(score.bestPeer), .init(score.switches.fixed(1)),
                .init(score.returns.fixed(1)), .init(score.oracleSwitches.fixed(1)),
            ]
        }
        let heading =
            style.bold("altnet's outage over the oracle's and the best peer's") + " (+: weak signal or dead internet)"
        return ([heading] + table.lines(style) + [""] + goals.flatMap { lines($0, style) }).joined(separator: "\n")
    }

    private func lines(_ goal: Goal, _ style: TextStyle) -> [String] {
        let verdict = goal.isMet ? style.green("met    ") : "not met"
        return ["\(verdict)  \(goal.name): \(goal.reached) (wanted: \(goal.wanted))"]
            + (goal.furthest.isEmpty ? [] : ["         " + goal.furthest.joined(separator: ", ")])
    }
}
