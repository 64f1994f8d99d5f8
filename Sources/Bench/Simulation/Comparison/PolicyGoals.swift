/// altnet's regret, its cost beside that of an earlier run, of peers and of oracles, and the goals for them.
public struct PolicyGoals: Sendable {
    public struct ScenarioScore: Sendable, Hashable, Codable {
        public let scenario: String
        /// Length of a pass, in seconds.
        public let seconds: Double
        /// altnet's costs: first with the measure, then with each variant of the measure.
        public let costs: [CostRatios]
        public let switches: Double
        public let returns: Double
        public let oracleSwitches: Double

        var cost: CostRatios { costs[0] }
        var passesPerDay: Double { 86_400 / seconds }
        var regret: SeedSample { SeedSample(regrets(0)) }

        /// Returns the regret of each pass with a measure, in seconds a day.
        func regrets(_ index: Int) -> [Double] { costs[index].passes.map { ($0.cost - $0.reacting) * passesPerDay } }
    }

    /// A figure, and its goal if it has one.
    public struct Goal: Sendable, Hashable, Encodable {
        public let name: String
        public var wanted: String?
        public let reached: String
        public var isMet: Bool?
        /// Scenarios that miss the goal, worst first, with their values.
        public var furthest: [String] = []
    }

    /// Seconds per pass that are added to both sides of a ratio. Without them, a ratio to a cost near 0 has no meaning.
    public static let grace = 0.5

    public let scores: [ScenarioScore]
    private let before: [String: ScenarioScore]?
    private let isRandom: Bool

    /// - Parameters:
    ///   - before: an earlier run with the same scenarios and seeds.
    ///   - isRandom: whether the scenarios are random. Their luck is then that of the draw, not that of the passes.
    public init(of comparisons: [Comparison], before: PolicyBaseline? = nil, isRandom: Bool = false) {
        self.isRandom = isRandom
        self.before = before?.scores
        scores = comparisons.compactMap(ScenarioScore.init)
    }

    public var goals: [Goal] {
        [totalCost] + worseScenarios + variants.indices.map(meanRegret)
            + variants.indices.flatMap { index in
                [
                    ratios("best peer's", of: index, \.overBestPeer),
                    ratios("reacting oracle's", of: index, \.overReacting),
                ]
            }
            + [
                switches("switches", \.switches),
                switches("switches other than returns to the preferred network") { $0.switches - $0.returns },
            ]
    }

    /// Names of the measure and of the variants for which all scenarios have costs.
    private var variants: [String] {
        let count = scores.map(\.costs.count).min() ?? 0
        return scores.first.map { $0.costs.prefix(count).map(\.measure) } ?? []
    }

    private func name(_ figure: String, _ index: Int) -> String {
        index == 0 ? figure : "\(figure) (\(variants[index]))"
    }

    private var totalCost: Goal {
        let name = "total cost of a pass of each scenario"
        let now = scores.reduce(0) { $0 + $1.cost.cost.mean }
        guard let before else { return Goal(name: name, reached: "\(now.fixed(1)) s") }
        let earlier = scores.reduce(0) { $0 + (before[$1.scenario]?.cost.cost.mean ?? 0) }
        return Goal(
            name: name, wanted: "at most 1.02 times the earlier run's",
            reached: "\(now.fixed(1)) s, \(earlier.fixed(1)) before, ratio \((now / earlier).fixed(3))",
            isMet: now <= 1.02 * earlier)
    }

    /// Scenarios with more cost than in the earlier run. Judged where each has a confidence interval, none is random.
    private var worseScenarios: [Goal] {
        guard let before else { return [] }
        let changes = scores.compactMap { score in
            before[score.scenario].map { (score.scenario, change: SeedSample(score.changes(since: $0, \.cost))) }
        }.sorted { $0.change.mean > $1.change.mean }
        let worse = changes.filter { $0.change.mean > $0.change.error ?? 0 }
        let better = changes.count { -$0.change.mean > $0.change.error ?? 0 }
        let hasErrors = changes.allSatisfy { $0.change.error != nil }
        let isJudged = hasErrors && !isRandom
        return [
            Goal(
                name: "scenarios worse than before" + (hasErrors ? " beyond the confidence interval" : ""),
                wanted: isJudged ? "none" : nil, reached: "\(worse.count) of \(changes.count), \(better) better",
                isMet: isJudged ? worse.isEmpty : nil, furthest: worse.map { "\($0) +\($1.text) s/d" })
        ]
    }

    private func meanRegret(_ index: Int) -> Goal {
        let name = name("mean regret to the reacting oracle", index)
        let now = mean { $0.regrets(index) }
        guard index == 0, let before else { return Goal(name: name, reached: "\(now.text) s/d") }
        let earlier = mean { before[$0.scenario]?.regrets(0) ?? [] }
        let change = mean { score in
            before[score.scenario].map { score.changes(since: $0) { $0.cost - $0.reacting } } ?? []
        }
        return Goal(
            name: name, wanted: isRandom ? "at most the earlier run's" : nil,
            reached: "\(now.text) s/d, \(earlier.text) before, change \(change.text)",
            isMet: isRandom ? now.mean <= earlier.mean : nil)
    }

    /// Returns the means of a figure: one for each random scenario, or one for each pass of all other scenarios.
    private func mean(_ figures: (ScenarioScore) -> [Double]) -> SeedSample {
        let figures = scores.map(figures)
        if isRandom { return SeedSample(figures.map { SeedSample($0).mean }) }
        return SeedSample(
            (0..<(figures.map(\.count).min() ?? 0)).map { pass in SeedSample(figures.map { $0[pass] }).mean })
    }

    private func ratios(_ whose: String, of index: Int, _ ratio: (CostRatios) -> Double) -> Goal {
        let ratios = scores.map { ratio($0.costs[index]) }.sorted()
        return Goal(
            name: name("cost over the \(whose)", index),
            reached: "\((ratios.isEmpty ? 1 : ratios[ratios.count / 2]).fixed(2)) in the median scenario, "
                + "\((ratios.last ?? 1).fixed(2)) at worst, at most 1.05 in \(ratios.count { $0 <= 1.05 }) of "
                + "\(ratios.count)")
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
    fileprivate init?(_ comparison: Comparison) {
        guard let altnet = comparison.rows.first(where: { $0.policy == Comparison.altnet }),
            let oracle = comparison.rows.first(where: { $0.policy == Comparison.oracle }), !comparison.ratios.isEmpty
        else { return nil }
        let seconds = comparison.duration.inSeconds
        let passes = 86_400 / seconds
        self.init(
            scenario: comparison.scenario, seconds: seconds, costs: comparison.ratios,
            switches: altnet.switchesPerDay / passes, returns: altnet.returnsPerDay / passes,
            oracleSwitches: oracle.switchesPerDay / passes)
    }

    /// Returns the change of a figure in each pass, in seconds a day.
    /// - Parameter before: score with the same seeds.
    fileprivate func changes(since before: Self, _ figure: (CostRatios.Pass) -> Double) -> [Double] {
        zip(cost.passes, before.cost.passes).map { (figure($0) - figure($1)) * passesPerDay }
    }
}

extension SeedSample {
    fileprivate var text: String { mean.fixed(1) + (error.map { " +-\($0.fixed(1))" } ?? "") }
}

extension PolicyGoals {
    /// Returns the scores and goals as text for a terminal.
    /// - Parameter limit: maximum number of scenarios, worst first; nil for all.
    public func render(_ style: TextStyle, limit: Int?) -> String {
        var table = TextTable(headings: [
            "SCENARIO", "REGRET s/d", "+-", "TO REACTING", "TO ORACLE", "TO BEST PEER", "+-", "BEST PEER", "SWITCHES",
            "RETURNS", "ORACLE'S",
        ])
        table.rows = scores.sorted { $0.regret.mean > $1.regret.mean }.prefix(limit ?? scores.count).map { score in
            [
                .init("  " + score.scenario), .init(score.regret.mean.fixed(1)),
                .init(score.regret.error?.fixed(1) ?? "-"), .init(score.cost.overReacting.fixed(2)),
                .init(score.cost.overOracle?.fixed(2) ?? "-"), .init(score.cost.overBestPeer.fixed(2)),
                .init(score.cost.error?.fixed(2) ?? "-"), .init(score.cost.bestPeer), .init(score.switches.fixed(1)),
                .init(score.returns.fixed(1)), .init(score.oracleSwitches.fixed(1)),
            ]
        }
        let heading = style.bold("altnet's regret to the reacting oracle, and its cost over the others'")
        return ([heading] + table.lines(style) + [""] + goals.flatMap { lines($0, style, limit) }).joined(
            separator: "\n")
    }

    private func lines(_ goal: Goal, _ style: TextStyle, _ limit: Int?) -> [String] {
        let verdict = goal.isMet.map { $0 ? style.green("met    ") : "not met" } ?? "       "
        return ["\(verdict)  \(goal.name): \(goal.reached)" + (goal.wanted.map { " (wanted: \($0))" } ?? "")]
            + (goal.furthest.isEmpty ? [] : ["         " + goal.furthest.prefix(limit ?? .max).joined(separator: ", ")])
    }
}
