/// Time on the device's monotonic clock, in milliseconds since an arbitrary start. The policy never reads a clock: it
/// gets instants, so a recording replays exactly.
public struct Instant: InstantProtocol, Hashable, Sendable {
    public let milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public func advanced(by duration: Duration) -> Instant {
        Instant(milliseconds: milliseconds.addingWithin(duration.milliseconds))
    }

    public func duration(to other: Instant) -> Duration {
        .milliseconds(other.milliseconds.subtractingWithin(milliseconds))
    }

    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }
    public static func + (instant: Self, duration: Duration) -> Instant { instant.advanced(by: duration) }
    public static func - (instant: Self, duration: Duration) -> Instant { instant.advanced(by: .zero - duration) }
    public static func - (left: Self, right: Self) -> Duration { right.duration(to: left) }
}

extension Instant: Codable {
    /// Decodes 0 to 2^50 ms. This is beyond any uptime, and small enough to add a wait without overflow.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        milliseconds = try container.decode(Int64.self)
        guard (0...(1 << 50)).contains(milliseconds) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a time in milliseconds")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }
}

extension Duration {
    /// Milliseconds, rounded towards zero and clamped to `Int64`.
    public var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (milliseconds, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
        guard !isTooLong else { return seconds < 0 ? .min : .max }
        return milliseconds.addingWithin(attoseconds / 1_000_000_000_000_000)
    }
}

extension Int64 {
    /// Returns the sum, clamped to `Int64`, because some operands are untrusted.
    fileprivate func addingWithin(_ other: Int64) -> Int64 {
        let (sum, isTooLong) = addingReportingOverflow(other)
        return isTooLong ? (other < 0 ? .min : .max) : sum
    }

    fileprivate func subtractingWithin(_ other: Int64) -> Int64 {
        let (difference, isTooLong) = subtractingReportingOverflow(other)
        return isTooLong ? (other < 0 ? .max : .min) : difference
    }
}

/// Waits that double from `first` to `last`.
public struct BackOff: Hashable, Sendable {
    public var first: Duration
    public var last: Duration

    public init(first: Duration, last: Duration) {
        self.first = first
        self.last = last
    }

    /// Returns the wait after `count` previous waits.
    public func wait(after count: Int) -> Duration {
        var wait = first
        // 128 doublings reach any `last`, unless `first` is zero.
        for _ in 0..<min(max(count, 0), 128) {
            guard wait <= last / 2 else { return last }
            wait *= 2
        }
        return min(wait, last)
    }

    /// Returns the wait after `count` previous waits, shortened at random. Prevents many devices from reconnecting at
    /// once.
    /// - Parameter least: Minimum share of the wait, 0 to 1.
    public func wait(
        after count: Int, atLeast least: Double, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        // The maximum is longer than any uptime, and exact as a `Double`.
        let wait = min(max(wait(after: count).milliseconds, 0), 1 << 50)
        return .milliseconds(Int64.random(in: min(wait, Int64(Double(wait) * least))...wait, using: &generator))
    }

    /// Returns a fraction of the elapsed time, between `first` and `last`.
    /// - Parameter part: Divisor of `time`.
    public func wait(after time: Duration, part: Int) -> Duration { max(first, min(last, time / part)) }
}

/// Rate limiter with a burst, full at the start. One token costs `period` parts, and one millisecond adds `rate` parts.
/// The integers avoid rounding errors.
public struct TokenBucket: Sendable {
    /// Tokens per period; also parts added per millisecond.
    private let rate: Int64
    /// Period in milliseconds; also parts per token.
    private let period: Int64
    private let capacity: Int64
    private var level: Int64
    private var filled: Instant?

    /// Maximum of `count` and `burst`. Its product with `longestPeriod` is far below `Int64.max`.
    private static let most: Int64 = 1_000_000_000
    /// Maximum period in milliseconds, one day.
    private static let longestPeriod: Int64 = 86_400_000
    /// Maximum debt, in multiples of the capacity.
    private static let deepest: Int64 = 24

    /// Clamps all arguments to their ranges.
    /// - Parameters:
    ///   - count: Tokens per period, 1 to 1,000,000,000.
    ///   - period: 1 ms to one day.
    ///   - burst: Maximum number of tokens, 1 to 1,000,000,000.
    public init(_ count: Int, per period: Duration, burst: Int) {
        rate = min(max(1, Int64(count)), Self.most)
        self.period = min(max(1, period.milliseconds), Self.longestPeriod)
        capacity = min(max(1, Int64(burst)), Self.most) * self.period
        level = capacity
    }

    /// Time until a token is available, in whole milliseconds.
    public mutating func delay(at now: Instant) -> Duration {
        fill(at: now)
        let missing = period - level
        return missing <= 0 ? .zero : .milliseconds((missing + rate - 1) / rate)
    }

    /// Takes `count` tokens. The level may become negative.
    public mutating func consume(_ count: Int = 1) {
        level = max(-Self.deepest * capacity, level - Int64(min(max(0, count), Int(Int32.max))) * period)
    }

    /// Whether the bucket was full at the last ``delay(at:)``, so that it can be discarded.
    public var isFull: Bool { level >= capacity }

    private mutating func fill(at now: Instant) {
        let elapsed = max(0, filled.map { (now - $0).milliseconds } ?? 0)
        filled = now
        // Fill the bucket without overflow, however far the clock jumps.
        guard elapsed < (capacity - level) / rate + 1 else {
            level = capacity
            return
        }
        level = min(capacity, level + elapsed * rate)
    }
}
