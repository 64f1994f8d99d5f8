/// Pauses that double from one attempt to the next, each cut by up to half at random, so that a house full of devices
/// that lost the same router does not come back in one moment.
public struct Backoff: Sendable {
    private var current: Duration
    private let longest: Duration

    /// - Parameters:
    ///   - shortest: the first pause.
    ///   - longest: the last one, which then repeats.
    public init(from shortest: Duration = .milliseconds(200), to longest: Duration = .seconds(5)) {
        current = shortest
        self.longest = longest
    }

    public mutating func next() -> Duration {
        defer { current = min(current * 2, longest) }
        return current * Double.random(in: 0.5...1)
    }
}
