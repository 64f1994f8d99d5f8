/// Cost of a pass in seconds: the outage, plus other burdens of the user with weights. altnet, peers and oracles have
/// the same measure.
///
/// Docs/results/policy-benchmark.md has the reasons for the weights.
public struct Measure: Sendable, Hashable {
    /// Cost in seconds of a second on a link with a utility (`LinkRate`) of 1 less than the best access point's.
    public var worse = 0.02
    /// Cost in seconds of a second on another network while the preferred network is good.
    public var away = 1.0 / 600
    /// Cost in seconds of a switch to another network. A switch ends connections.
    public var switching = 0.5
    /// Cost in seconds of a roam. A roam keeps connections.
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

    /// The measure, then variants with each weight halved and doubled. A variant's name is like `2 x away`.
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
