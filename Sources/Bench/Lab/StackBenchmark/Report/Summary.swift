import Simulation

/// What several runs say about one figure of one stack.
public struct Summary: Equatable, Sendable {
    /// Infinite where it never came in at least half of the runs.
    public let median: Double
    public let least: Double
    public let most: Double
    public let runs: Int
    /// How long was waited where it never came, in seconds.
    public let waited: Double?

    /// - Returns: nil for no readings.
    public init?(_ readings: [Reading]) {
        let sorted = readings.map { $0.value ?? .infinity }.sorted()
        guard let least = sorted.first, let most = sorted.last else { return nil }
        let (low, high) = (sorted[(sorted.count - 1) / 2], sorted[sorted.count / 2])
        median = low == high ? low : (low + high) / 2
        (self.least, self.most) = (least, most)
        runs = sorted.count
        waited = readings.compactMap(\.waited).max()
    }

    /// `1.98 (1.90..2.05)`, or `never in 120 s`.
    public func text(_ unit: Figure.Unit) -> String {
        guard least.isFinite else { return "never in \(Int(waited ?? 0)) s" }
        let middle = Self.text(median, unit)
        return runs == 1 ? middle : "\(middle) (\(Self.text(least, unit))..\(Self.text(most, unit)))"
    }

    static func text(_ value: Double, _ unit: Figure.Unit) -> String {
        guard value.isFinite else { return "never" }
        return value.fixed(value < 1 || unit == .seconds && value < 10 ? 2 : value < 100 ? 1 : 0)
    }
}

extension [Run] {
    /// What all runs of this kind say together; nil where there is none.
    func summary(_ figure: Figure, of stack: String, in time: Run.Time) -> Summary? {
        Summary(
            filter { $0.stack == stack && $0.time == time }.flatMap(\.readings).filter { $0.figure == figure })
    }

    func summary(_ figure: Figure, of stack: StackName, in time: Run.Time) -> Summary? {
        summary(figure, of: stack.rawValue, in: time)
    }
}
