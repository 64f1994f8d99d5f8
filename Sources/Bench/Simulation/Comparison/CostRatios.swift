import Glibc

/// altnet's cost in a scenario beside the cost of the best peer and of the oracles, with one measure.
public struct CostRatios: Sendable, Hashable, Codable {
    /// Name of the measure: `as committed`, or a variant such as `2 x away`.
    public var measure = CostRatios.committed
    /// Passes in the order of their seeds.
    public let passes: [Pass]
    public let bestPeer: String
    /// Ratio to the best peer's cost.
    public let overBestPeer: Double
    /// Half of the 95 % confidence interval of `overBestPeer` over the seeds; nil with one seed.
    public var error: Double?
    /// Ratio to the cost of the oracle without foresight.
    public let overReacting: Double
    /// Ratio to the cost of the oracle with foresight; nil for a variant of the measure.
    public let overOracle: Double?

    public static let committed = "as committed"

    public struct Pass: Sendable, Hashable, Codable {
        public let seed: UInt64
        /// altnet's cost of the pass, in seconds.
        public let cost: Double
        /// Cost of the oracle without foresight, in seconds.
        public let reacting: Double
    }

    var cost: SeedSample { SeedSample(passes.map(\.cost)) }
}

extension Comparison {
    static func ratios(_ heats: [Heat]) -> [CostRatios] {
        guard let first = heats.first else { return [] }
        let variants = first.variants.isEmpty ? [(name: CostRatios.committed, measure: Measure())] : Measure.variants
        return variants.enumerated().compactMap { index, variant in
            let costs = first.results.indices.map { policy in
                heats.map { variant.measure.cost(of: $0.results[policy]) }
            }
            guard let altnet = costs.first,
                let best = costs.indices.dropFirst().min(by: { SeedSample(costs[$0]).mean < SeedSample(costs[$1]).mean }
                )
            else { return nil }
            let isMain = index == 0
            let reacting = heats.map { isMain ? $0.reacting.cost : $0.variants[index].cost }
            let ratio = PairedRatio(altnet, costs[best], grace: PolicyGoals.grace)
            return CostRatios(
                measure: variant.name,
                passes: heats.indices.map {
                    CostRatios.Pass(seed: heats[$0].seed, cost: altnet[$0], reacting: reacting[$0])
                },
                bestPeer: first.results[best].policy, overBestPeer: ratio.value,
                error: ratio.error,
                overReacting: PairedRatio(altnet, reacting, grace: PolicyGoals.grace).value,
                overOracle: isMain
                    ? PairedRatio(altnet, heats.map(\.oracle.cost), grace: PolicyGoals.grace).value : nil)
        }
    }
}

/// Values of several passes that differ only in their seeds.
struct SeedSample {
    private let values: [Double]

    init(_ values: [Double]) { self.values = values }

    var mean: Double { values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count) }

    /// Half of the mean's 95 % confidence interval (Student's distribution); nil for fewer than two values.
    var error: Double? {
        guard values.count > 1 else { return nil }
        let (mean, count) = (mean, Double(values.count))
        let squares = values.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        return Self.student(values.count - 1) * sqrt(squares / (count - 1) / count)
    }

    /// Returns the two-sided 95 % quantile of Student's distribution.
    /// - Parameter freedom: degrees of freedom.
    static func student(_ freedom: Int) -> Double {
        let table = [
            12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
            2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
        ]
        return freedom < 1 ? .infinity : freedom <= table.count ? table[freedom - 1] : 1.96
    }
}

/// Ratio of two sums over the same passes.
struct PairedRatio {
    let value: Double
    /// Half of the ratio's 95 % confidence interval (jackknife); nil for fewer than two passes.
    let error: Double?

    /// - Parameter grace: constant that is added to both values of each pass.
    init(_ above: [Double], _ below: [Double], grace: Double) {
        let (sumAbove, sumBelow) = (above.reduce(0, +), below.reduce(0, +))
        let count = Double(min(above.count, below.count))
        value = (sumAbove + count * grace) / (sumBelow + count * grace)
        guard count > 1 else {
            error = nil
            return
        }
        let parts = zip(above, below).map { one, other in
            (sumAbove - one + (count - 1) * grace) / (sumBelow - other + (count - 1) * grace)
        }
        let mean = parts.reduce(0, +) / count
        let squares = parts.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        error = SeedSample.student(parts.count - 1) * sqrt(squares * (count - 1) / count)
    }
}
