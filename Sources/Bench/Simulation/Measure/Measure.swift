/// The price of a pass, in seconds of outage: outage itself, and what else a user would mind, at these weights.
///
/// Docs/results/policy-benchmark.md gives the reasons for the weights. altnet, the models of other programs, and both
/// oracles are judged by the same.
public struct Measure: Sendable, Hashable {
    /// A second on an access point whose throughput is next to nothing, where the best in range has all.
    public var worse = 0.02
    /// A second away from the preferred network while that is good.
    public var away = 1.0 / 600
    /// A move to another network: connections end.
    public var switching = 0.5
    /// A move inside the network: connections go on.
    public var roaming = 0.1

    public init() {}

    /// The cost of what a run came to, in seconds.
    public func cost(outage: Double, worse: Double, away: Double, switches: Int, roams: Int) -> Double {
        outage + self.worse * worse + self.away * away + switching * Double(switches) + roaming * Double(roams)
    }

    /// - Parameter run: one pass that was measured.
    public func cost(of run: RunResult) -> Double {
        cost(
            outage: run.outage.inSeconds, worse: run.worse, away: run.away, switches: run.switches, roams: run.roams)
    }

    /// The measure itself, then each weight halved and doubled, with a name for each: `2 x away`.
    public static var variants: [(name: String, measure: Measure)] {
        let weights: [(String, WritableKeyPath<Measure, Double> & Sendable)] = [
            ("worse", \.worse), ("away", \.away), ("switching", \.switching), ("roaming", \.roaming),
        ]
        var variants = [(name: CostRatios.committed, measure: Measure())]
        for (name, weight) in weights {
            for (factor, text) in [(0.5, "0.5"), (2.0, "2")] {
                var measure = Measure()
                measure[keyPath: weight] *= factor
                variants.append(("\(text) x \(name)", measure))
            }
        }
        return variants
    }
}
