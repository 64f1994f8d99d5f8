/// How long something took, again and again: in microseconds.
struct Timing: Codable {
    let median: Double
    let mean: Double
    let p95: Double

    /// - Parameter durations: at least one.
    init(_ durations: [Duration]) {
        let sorted = durations.map { $0 / .microseconds(1) }.sorted()
        median = sorted[sorted.count / 2]
        mean = sorted.reduce(0, +) / Double(sorted.count)
        p95 = sorted[sorted.count * 95 / 100]
    }
}
