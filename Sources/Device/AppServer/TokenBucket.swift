import AgentModel

/// Grants things at a steady rate, and several at once after a rest.
struct TokenBucket: Sendable {
    /// What one thing costs and what is there, as the time in microseconds that fills it.
    private let cost: Int64
    private let capacity: Int64
    private var level: Int64
    private var lastFilled: Instant

    /// - Parameters:
    ///   - interval: from one to the next in the long run, at least a microsecond.
    ///   - burst: how many at once after a rest.
    init(interval: Duration, burst: Int, at now: Instant) {
        cost = max(1, interval.microseconds)
        capacity = cost * Int64(burst)
        level = capacity
        lastFilled = now
    }

    init(_ rate: AppServer.RequestRate, at now: Instant) {
        self.init(interval: .microseconds(1_000_000 / Int64(rate.perSecond)), burst: rate.burst, at: now)
    }

    /// How long it takes until one can be taken.
    mutating func delay(at now: Instant) -> Duration {
        // Whatever the clock does, it is full after this.
        let elapsed = min(max(.zero, now - lastFilled).milliseconds, capacity / 1000 + 1)
        level = min(capacity, level + elapsed * 1000)
        lastFilled = now
        return .microseconds(max(0, cost - level))
    }

    /// Takes one that ``delay(at:)`` has found.
    mutating func take() { level -= cost }

    /// Whether forgetting it would change nothing.
    var isFull: Bool { level >= capacity }
}

extension Duration {
    fileprivate var microseconds: Int64 { components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000 }
}
