import AgentModel
import Failover

/// How altnet, the others and the optimum fared in one scenario, side by side: means over several seeds.
public struct Comparison: Sendable, Hashable {
    public let scenario: String
    public let title: String
    /// How many seeds, and how long one pass was.
    public let seeds: Int
    public let duration: Duration
    /// altnet first, then the others, the oracle last.
    public let rows: [Row]
    /// altnet's cost over that of others: by the measure, and then with each of its weights halved and doubled if that was asked for.
    public let ratios: [CostRatios]

    public init(
        scenario: String, title: String, seeds: Int, duration: Duration, rows: [Row], ratios: [CostRatios] = []
    ) {
        self.scenario = scenario
        self.title = title
        self.seeds = seeds
        self.duration = duration
        self.rows = rows
        self.ratios = ratios
    }

    /// Names of altnet's own row and of the optimum's.
    public static let altnet = "altnet"
    public static let oracle = "oracle"

    public struct Row: Sendable, Hashable {
        /// `altnet`, the name of a model, or `oracle`.
        public let policy: String
        /// Seconds of cost a day by `Measure`, and half of its 95 % confidence interval over the seeds; nil with one seed.
        public var costPerDay = 0.0
        public var costError: Double?
        /// Seconds of a day without use.
        public let outagePerDay: Double
        public let switchesPerDay: Double
        /// Of the switches, those back to the preferred network.
        public let returnsPerDay: Double
        public let roamsPerDay: Double
        /// Of the cost a day, what a worse network than the best and the time away from the preferred one came to.
        public var worsePerDay = 0.0
        public var awayPerDay = 0.0
        /// Seconds of cost a day more than the oracle's.
        public var regretPerDay = 0.0

        public init(
            policy: String, outagePerDay: Double, switchesPerDay: Double, returnsPerDay: Double, roamsPerDay: Double
        ) {
            self.policy = policy
            self.outagePerDay = outagePerDay
            self.switchesPerDay = switchesPerDay
            self.returnsPerDay = returnsPerDay
            self.roamsPerDay = roamsPerDay
        }
    }
}

/// One pass of a scenario, run by altnet and by every peer in the same air, and by the oracle.
public struct Heat: Sendable {
    public let seed: UInt64
    /// altnet's first.
    public let results: [RunResult]
    public let oracle: Oracle.Outcome
    /// The oracle without foresight.
    public let reacting: Oracle.Outcome
    /// The same with each variant of the measure, in their order, if that was asked for.
    public let variants: [Oracle.Outcome]

    /// - Parameter weighs: whether each weight of the measure is to be halved and doubled.
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
    /// - Parameter heats: of one scenario, one for each seed; at least one.
    public init(of scenario: Scenario, _ heats: [Heat]) {
        let passes = 86_400 / scenario.duration.inSeconds
        func mean(_ figure: (Heat) -> Double) -> Double { SeedSample(heats.map(figure)).mean * passes }
        func cost(_ figure: (Heat) -> Double) -> (mean: Double, error: Double?) {
            let sample = SeedSample(heats.map(figure))
            return (sample.mean * passes, sample.error.map { $0 * passes })
        }

        let measure = Measure()
        let optimum = cost { $0.oracle.cost }
        var rows = (heats.first?.results.indices ?? 0..<0).map { index in
            var row = Row(
                policy: heats[0].results[index].policy, outagePerDay: mean { $0.results[index].outage.inSeconds },
                switchesPerDay: mean { Double($0.results[index].switches) },
                returnsPerDay: mean { Double($0.results[index].returns) },
                roamsPerDay: mean { Double($0.results[index].roams) })
            (row.costPerDay, row.costError) = cost { measure.cost(of: $0.results[index]) }
            row.worsePerDay = mean { measure.worse * $0.results[index].worse }
            row.awayPerDay = mean { measure.away * $0.results[index].away }
            row.regretPerDay = row.costPerDay - optimum.mean
            return row
        }
        var best = Row(
            policy: Self.oracle, outagePerDay: mean { $0.oracle.outage.inSeconds },
            switchesPerDay: mean { Double($0.oracle.switches) }, returnsPerDay: 0,
            roamsPerDay: mean { Double($0.oracle.roams) })
        (best.costPerDay, best.costError) = optimum
        rows.append(best)
        self.init(
            scenario: scenario.name, title: scenario.title, seeds: heats.count, duration: scenario.duration, rows: rows,
            ratios: Self.ratios(heats))
    }
}

extension Scenario {
    /// Whether an access point of the preferred network loses more than half of the traffic, for its signal or its
    /// internet, for a minute at least, while something good is in range: where altnet has to be much better than the
    /// others, which never leave a living link, or only within a network.
    public var isHard: Bool {
        let world = World(self, seed: 1)
        let known = world.accessPoints.filter { world.network(of: $0) != nil }
        let home = known.filter { world.network(of: $0).map { networks[$0].isPreferred } ?? false }
        var troubled = [Int64](repeating: 0, count: home.count)
        var start: Int64 = 0
        while start < world.passLength {
            let window = start..<min(start + Self.look, world.passLength)
            let losses = known.map { world.lostTime(of: $0, in: window) / Double(window.count) }
            if losses.contains(where: { $0 < 0.1 }) {
                for (index, ap) in home.enumerated()
                where loss(of: ap, among: known, losses) > 0.5 && world.isWanted(ap, at: .milliseconds(start)) {
                    troubled[index] += Int64(window.count)
                }
            }
            start = window.upperBound
        }
        return troubled.contains { $0 >= 60_000 }
    }

    /// In milliseconds.
    private static let look: Int64 = 10_000

    private func loss(of accessPoint: Int, among known: [Int], _ losses: [Double]) -> Double {
        zip(known, losses).first { $0.0 == accessPoint }?.1 ?? 0
    }
}

extension World {
    /// Whether a device could be there, and needs to be anywhere.
    fileprivate func isWanted(_ accessPoint: Int, at time: Duration) -> Bool {
        let state = state(of: accessPoint, at: time)
        return state.isOn && state.admission == .admitted && isInDemand(at: time)
    }
}
