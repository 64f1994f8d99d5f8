import AgentModel
import Glibc

extension Instant {
    /// This moment on `CLOCK_BOOTTIME`: monotonic, counting also while the device sleeps, and the clock on which the
    /// kernel stamps scan results.
    public static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
