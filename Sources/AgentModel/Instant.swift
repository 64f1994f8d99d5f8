/// A moment on the device's monotonic clock, in whole milliseconds since an arbitrary start.
///
/// The policy never reads a clock: it is handed instants, so that a recorded run replays exactly.
public struct Instant: InstantProtocol, Hashable, Sendable {
    public let milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public func advanced(by duration: Duration) -> Instant {
        Instant(milliseconds: milliseconds + duration.milliseconds)
    }

    public func duration(to other: Instant) -> Duration { .milliseconds(other.milliseconds - milliseconds) }

    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }
    public static func + (instant: Self, duration: Duration) -> Instant { instant.advanced(by: duration) }
    public static func - (instant: Self, duration: Duration) -> Instant { instant.advanced(by: .zero - duration) }
    public static func - (left: Self, right: Self) -> Duration { right.duration(to: left) }
}

extension Duration {
    /// The duration in milliseconds, towards zero.
    public var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
