/// A moment on the device's monotonic clock, in whole milliseconds since an arbitrary start.
///
/// The policy never reads a clock: it is handed instants, so that a recorded run replays exactly.
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
    /// Reads milliseconds from 0 to 2^50: far beyond any uptime, and far from where adding a wait could overflow.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        milliseconds = try container.decode(Int64.self)
        guard (0...(1 << 50)).contains(milliseconds) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no time in milliseconds")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }
}

extension Duration {
    /// The duration in milliseconds, towards zero, or the nearest that there is.
    public var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (milliseconds, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
        guard !isTooLong else { return seconds < 0 ? .min : .max }
        return milliseconds.addingWithin(attoseconds / 1_000_000_000_000_000)
    }
}

extension Int64 {
    /// The sum, or the nearest that there is: moments and durations are reckoned with numbers from outside.
    fileprivate func addingWithin(_ other: Int64) -> Int64 {
        let (sum, isTooLong) = addingReportingOverflow(other)
        return isTooLong ? (other < 0 ? .min : .max) : sum
    }

    fileprivate func subtractingWithin(_ other: Int64) -> Int64 {
        let (difference, isTooLong) = subtractingReportingOverflow(other)
        return isTooLong ? (other < 0 ? .max : .min) : difference
    }
}

/// Waits that double from the first to the last, which then repeats.
public struct BackOff: Hashable, Sendable {
    public var first: Duration
    public var last: Duration

    public init(first: Duration, last: Duration) {
        self.first = first
        self.last = last
    }

    /// The wait after `count` earlier ones.
    public func wait(after count: Int) -> Duration {
        var wait = first
        // Doubling more often would not change any wait but zero.
        for _ in 0..<min(max(count, 0), 128) {
            guard wait <= last / 2 else { return last }
            wait *= 2
        }
        return min(wait, last)
    }

    /// The wait after `count` earlier ones, cut at random, so that many devices that lost the same router or server do
    /// not come back at one moment.
    /// - Parameter least: the part of it that always remains, 0 to 1.
    public func wait(
        after count: Int, atLeast least: Double, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        // Longer than anything runs, and far from where a `Double` loses milliseconds.
        let wait = min(max(wait(after: count).milliseconds, 0), 1 << 50)
        return .milliseconds(Int64.random(in: min(wait, Int64(Double(wait) * least))...wait, using: &generator))
    }

    /// The wait after so much time: a part of that.
    public func wait(after time: Duration, part: Int) -> Duration { max(first, min(last, time / part)) }
}

/// Grants things at a steady rate, and several at once after a rest. It is full at first.
///
/// Counts in parts of a thing: the milliseconds of its period, which times the number granted in a period give whole
/// parts. So nothing is lost, however often it is asked.
public struct TokenBucket: Sendable {
    /// Granted in one period: the parts that one millisecond brings.
    private let rate: Int64
    /// Milliseconds: the parts that one thing costs.
    private let period: Int64
    private let capacity: Int64
    private var level: Int64
    private var filled: Instant?

    /// The most of anything, and the longest period: a day. Products of both fit an `Int64` many times.
    private static let most: Int64 = 1_000_000_000
    private static let longestPeriod: Int64 = 86_400_000
    /// How many times its capacity a bucket may owe.
    private static let deepest: Int64 = 24

    /// Values out of range are brought into it.
    /// - Parameters:
    ///   - count: how many are granted in each period in the long run, 1 to 1,000,000,000.
    ///   - period: a millisecond to a day.
    ///   - burst: how many at once after a rest, 1 to 1,000,000,000.
    public init(_ count: Int, per period: Duration, burst: Int) {
        rate = min(max(1, Int64(count)), Self.most)
        self.period = min(max(1, period.milliseconds), Self.longestPeriod)
        capacity = min(max(1, Int64(burst)), Self.most) * self.period
        level = capacity
    }

    /// How long it takes until there is one, in whole milliseconds.
    public mutating func delay(at now: Instant) -> Duration {
        fill(at: now)
        let missing = period - level
        return missing <= 0 ? .zero : .milliseconds((missing + rate - 1) / rate)
    }

    /// Takes so many. More than there are is owed, and missing later.
    public mutating func take(_ count: Int = 1) {
        level = max(-Self.deepest * capacity, level - Int64(min(max(0, count), Int(Int32.max))) * period)
    }

    /// Whether forgetting it would change nothing, as of the last ``delay(at:)``.
    public var isFull: Bool { level >= capacity }

    private mutating func fill(at now: Instant) {
        let elapsed = max(0, filled.map { (now - $0).milliseconds } ?? 0)
        filled = now
        // However the clock jumps, the bucket is full after that.
        guard elapsed < (capacity - level) / rate + 1 else {
            level = capacity
            return
        }
        level = min(capacity, level + elapsed * rate)
    }
}
