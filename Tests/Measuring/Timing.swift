/// How long something took, again and again: in microseconds.
public struct Timing: Codable, Sendable {
    public let median: Double
    public let mean: Double
    public let p95: Double
    public let p99: Double

    /// - Parameter durations: at least one.
    public init(_ durations: [Duration]) {
        let sorted = durations.map { $0 / .microseconds(1) }.sorted()
        median = sorted[sorted.count / 2]
        mean = sorted.reduce(0, +) / Double(sorted.count)
        p95 = sorted[sorted.count * 95 / 100]
        p99 = sorted[sorted.count * 99 / 100]
    }
}
