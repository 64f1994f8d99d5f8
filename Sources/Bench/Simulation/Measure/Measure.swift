/// Cost of a pass in seconds of outage: the outage, and weighted other burdens of the user. altnet, peers and oracles
/// are measured equally.
///
/// Docs/results/policy-benchmark.md has the reasons for the weights.
public struct Measure: Sendable, Hashable {
    /// Cost of a second without throughput where the best in range has the maximum.
    public var worse = 0.02
    /// Cost of a second away from the preferred network while it is good.
    public var away = 1.0 / 600
    /// Cost of a switch to another network, which ends connections.
    public var switching = 0.5
    /// Cost of a roam, which keeps connections.
    public var roaming = 0.1

    public init() {}

    /// Returns the cost in seconds.
    public func cost(outage: Double, worse: Double, away: Double, switches: Int, roams: Int) -> Double {
        outage + self.worse * worse + self.away * away + switching * Double(switches) + roaming * Double(roams)
    }

    public func cost(of run: RunResult) -> Double {
        cost(
            outage: run.outage.inSeconds, worse: run.worse, away: run.away, switches: run.switches, roams: run.roams)
    }

    /// The measure itself, then each weight halved and doubled, with names such as `2 x away`.
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
