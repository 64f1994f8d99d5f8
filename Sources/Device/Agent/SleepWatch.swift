import Glibc

/// Notices that the machine was asleep: the one of the kernel's monotonic clocks that counts sleep has gone ahead of
/// the one that does not.
struct SleepWatch {
    /// Anything shorter is the time between two readings.
    static let threshold = Duration.seconds(1)

    private var asleep: Duration?

    /// - Parameter asleep: how long the machine has been asleep since it was started.
    /// - Returns: whether it was since this was asked last.
    mutating func hasSlept(_ asleep: Duration = Self.timeAsleep) -> Bool {
        defer { self.asleep = max(asleep, self.asleep ?? asleep) }
        return self.asleep.map { asleep - $0 > Self.threshold } ?? false
    }

    private static var timeAsleep: Duration { time(CLOCK_BOOTTIME) - time(CLOCK_MONOTONIC) }

    private static func time(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
