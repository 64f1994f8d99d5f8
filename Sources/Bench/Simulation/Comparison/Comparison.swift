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
    /// Seconds of outage a day of an oracle that begins at home and does not foresee what comes suddenly, if it was
    /// asked.
    public let reactingOutagePerDay: Double?

    public init(
        scenario: String, title: String, seeds: Int, duration: Duration, rows: [Row],
        reactingOutagePerDay: Double? = nil
    ) {
        self.scenario = scenario
        self.title = title
        self.seeds = seeds
        self.duration = duration
        self.rows = rows
        self.reactingOutagePerDay = reactingOutagePerDay
    }

    /// Names of altnet's own row and of the optimum's.
    public static let altnet = "altnet"
    public static let oracle = "oracle"

    public struct Row: Sendable, Hashable {
        /// `altnet`, the name of a model, or `oracle`.
        public let policy: String
        /// Seconds of a day without use.
        public let outagePerDay: Double
        public let switchesPerDay: Double
        /// Of the switches, those back to the preferred network.
        public let returnsPerDay: Double
        public let roamsPerDay: Double
        /// Seconds of outage a day more than the oracle's.
        public let regretPerDay: Double

        public init(
            policy: String, outagePerDay: Double, switchesPerDay: Double, returnsPerDay: Double, roamsPerDay: Double,
            regretPerDay: Double
        ) {
            self.policy = policy
            self.outagePerDay = outagePerDay
            self.switchesPerDay = switchesPerDay
            self.returnsPerDay = returnsPerDay
            self.roamsPerDay = roamsPerDay
            self.regretPerDay = regretPerDay
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

    public init(_ scenario: Scenario, seed: UInt64) {
        self.seed = seed
        let altnet = Simulation.run(scenario, seed: seed)
        let peers = Peer.all.map { peer in
            Simulation.run(scenario, seed: seed, policyName: peer.name, timing: peer.timing) { _ in peer.makePolicy() }
        }
        results = [altnet] + peers
        oracle = Oracle.run(scenario, seed: seed)
        reacting = Oracle.run(scenario, seed: seed, foresight: .none)
    }
}

extension Comparison {
    /// - Parameter heats: of one scenario, one for each seed; at least one.
    public init(of scenario: Scenario, _ heats: [Heat]) {
        let perDay = 86_400 / scenario.duration.inSeconds / Double(max(heats.count, 1))
        func mean(_ figure: (Heat) -> Double) -> Double { heats.map(figure).reduce(0, +) * perDay }

        let optimum = mean { $0.oracle.outage.inSeconds }
        var rows = (heats.first?.results.indices ?? 0..<0).map { index in
            let outage = mean { $0.results[index].outage.inSeconds }
            return Row(
                policy: heats[0].results[index].policy, outagePerDay: outage,
                switchesPerDay: mean { Double($0.results[index].switches) },
                returnsPerDay: mean { Double($0.results[index].returns) },
                roamsPerDay: mean { Double($0.results[index].roams) }, regretPerDay: outage - optimum)
        }
        rows.append(
            Row(
                policy: Self.oracle, outagePerDay: optimum, switchesPerDay: mean { Double($0.oracle.switches) },
                returnsPerDay: 0, roamsPerDay: mean { Double($0.oracle.roams) }, regretPerDay: 0))
        self.init(
            scenario: scenario.name, title: scenario.title, seeds: heats.count, duration: scenario.duration, rows: rows,
            reactingOutagePerDay: mean { $0.reacting.outage.inSeconds })
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
