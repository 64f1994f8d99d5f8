import AgentModel
import AppProtocol

/// What both clocks say at one moment: the monotonic one, which everything is ordered by, and the wall clock, which is
/// for people and may be wrong until the device is online.
package struct ClockReading: Sendable, Hashable {
    package let instant: Instant
    package let time: Timestamp

    package init(instant: Instant, time: Timestamp) { (self.instant, self.time) = (instant, time) }

    /// When another moment was, by what the wall clock says now, in seconds since 1970.
    func seconds(of moment: Instant) -> UInt32 {
        UInt32(clamping: (time.millisecondsSince1970 - (instant - moment).milliseconds) / 1000)
    }
}
