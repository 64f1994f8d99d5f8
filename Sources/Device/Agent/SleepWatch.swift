import Glibc

/// Detects system sleep by comparing the kernel's monotonic clocks with and without sleep.
struct SleepWatch {
    /// Shortest sleep that counts. Reading the clocks one after the other causes smaller differences.
    static let threshold = Duration.seconds(1)

    private var asleep: Duration?

    /// - Parameter asleep: total time that the system has slept since boot.
    /// - Returns: true if the system has slept since the last call.
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
