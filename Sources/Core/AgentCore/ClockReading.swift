import AgentModel
import AppProtocol

/// Time of both clocks at one moment. The monotonic clock orders events. The wall clock may be wrong until the device
/// is online.
package struct ClockReading: Sendable, Hashable {
    package let instant: Instant
    package let time: Timestamp

    package init(instant: Instant, time: Timestamp) { (self.instant, self.time) = (instant, time) }

    /// Returns a moment in seconds since 1970, by the current wall clock.
    func seconds(of moment: Instant) -> UInt32 {
        UInt32(clamping: (time.millisecondsSince1970 - (instant - moment).milliseconds) / 1000)
    }
}
