import Glibc

/// Detects system sleep by comparing the kernel's monotonic clocks with and without sleep.
struct SleepWatch {
    /// Shortest sleep that counts. Smaller differences come from reading the clocks one after the other.
    static let threshold = Duration.seconds(1)

    private var asleep: Duration?

    /// - Parameter asleep: total time asleep since boot.
    /// - Returns: whether the system has slept since the last call.
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
