/// Results of altnet, the peers and the oracle in one scenario, as means over several seeds.
public struct Comparison: Sendable, Hashable {
    public let scenario: String
    public let title: String
    public let seeds: Int
    public let duration: Duration
    /// Rows in order: altnet, the peers, the oracle.
    public let rows: [Row]
    /// Ratios of altnet's cost to the cost of peers and oracles. The first uses the measure's weights. The others, if
    /// requested, use each weight halved and doubled.
    public var ratios: [CostRatios] = []

    public static let altnet = "altnet"
    public static let oracle = "oracle"

    public struct Row: Sendable, Hashable {
        /// Name of the policy: `altnet`, the name of a model, or `oracle`.
        public let policy: String
        /// Cost per day in seconds (`Measure`).
        public var costPerDay = 0.0
        /// Half of the cost's 95 % confidence interval over the seeds, in seconds; nil with one seed.
        public var costError: Double?
        /// Outage per day in seconds.
        public let outagePerDay: Double
        public let switchesPerDay: Double
        /// Switches per day back to the preferred network.
        public let returnsPerDay: Double
        public let roamsPerDay: Double
        /// Part of the daily cost for access points worse than the best, in seconds.
        public var worsePerDay = 0.0
        /// Part of the daily cost for time away from the preferred network, in seconds.
        public var awayPerDay = 0.0
        /// Difference from the daily cost of the oracle without foresight, in seconds.
        public var regretPerDay = 0.0
    }
}

/// Results of one pass of a scenario for altnet, every peer and the oracles, with equal random signals.
public struct Heat: Sendable {
    public let seed: UInt64
    public let results: [RunResult]
    public let oracle: Oracle.Outcome
    /// Oracle without foresight.
    public let reacting: Oracle.Outcome
    /// Oracle without foresight for each variant of the measure; empty unless `weighs`.
    public let variants: [Oracle.Outcome]

    /// - Parameter weighs: whether to halve and double each weight of the measure.
    public init(_ scenario: Scenario, seed: UInt64, weighs: Bool = false) {
        self.seed = seed
        let world = World(scenario, seed: seed)
        let burdens = BurdenTable(world)
        results =
            [Simulation.run(world, burdens: burdens)]
            + Peer.all.map { Simulation.run(world, peer: $0, burdens: burdens) }
        oracle = Oracle.run(world, burdens, foresight: .complete)
        reacting = Oracle.run(world, burdens, foresight: .none)
        variants =
            weighs
            ? Measure.variants.map { Oracle.run(world, burdens, foresight: .none, measure: $0.measure) } : []
    }
}

extension Comparison {
    /// - Parameter heats: one heat per seed of the scenario, at least one.
    public init(of scenario: Scenario, _ heats: [Heat]) {
        let passes = 86_400 / scenario.duration.inSeconds
        func mean(_ figure: (Heat) -> Double) -> Double { SeedSample(heats.map(figure)).mean * passes }
        func cost(_ figure: (Heat) -> Double) -> (mean: Double, error: Double?) {
            let sample = SeedSample(heats.map(figure))
            return (sample.mean * passes, sample.error.map { $0 * passes })
        }

        let measure = Measure()
        let reacting = mean { $0.reacting.cost }
        var rows = (heats.first?.results.indices ?? 0..<0).map { index in
            var row = Row(
                policy: heats[0].results[index].policy, outagePerDay: mean { $0.results[index].outage.inSeconds },
                switchesPerDay: mean { Double($0.results[index].switches) },
                returnsPerDay: mean { Double($0.results[index].returns) },
                roamsPerDay: mean { Double($0.results[index].roams) })
            (row.costPerDay, row.costError) = cost { measure.cost(of: $0.results[index]) }
            row.worsePerDay = mean { measure.worse * $0.results[index].worse }
            row.awayPerDay = mean { measure.away * $0.results[index].away }
            row.regretPerDay = row.costPerDay - reacting
            return row
        }
        var best = Row(
            policy: Self.oracle, outagePerDay: mean { $0.oracle.outage.inSeconds },
            switchesPerDay: mean { Double($0.oracle.switches) }, returnsPerDay: 0,
            roamsPerDay: mean { Double($0.oracle.roams) })
        (best.costPerDay, best.costError) = cost { $0.oracle.cost }
        best.regretPerDay = best.costPerDay - reacting
        rows.append(best)
        self.init(
            scenario: scenario.name, title: scenario.title, seeds: heats.count, duration: scenario.duration, rows: rows,
            ratios: Self.ratios(heats))
    }
}
