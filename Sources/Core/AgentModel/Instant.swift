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
