import AgentModel

/// Sent and received frames of an interface, counted since an arbitrary start.
package struct LinkFrames: Sendable, Hashable {
    package var sent: UInt64
    package var received: UInt64

    package init(sent: UInt64, received: UInt64) { (self.sent, self.received) = (sent, received) }
}

/// Tracks whether the device sends much. The access point is watched closely only then, because this wakes the
/// processor.
struct TrafficMeter: Sendable {
    /// Total of sent frames at the start of the current interval.
    private var count: (frames: UInt64, since: Instant)?
    private(set) var isInUse = false

    /// Handles the total of sent frames. Call this whenever the processor is awake.
    /// - Returns: true if the state was evaluated.
    mutating func sent(_ frames: UInt64, at now: Instant) -> Bool {
        guard let count, frames >= count.frames else {
            countAnew(frames, at: now)
            return false
        }
        guard isCountDue(at: now) else { return false }
        let time = now - count.since
        isInUse = Double(frames - count.frames) >= Self.framesPerSecond * (time / .seconds(1))
        countAnew(frames, at: now)
        return true
    }

    func isCountDue(at now: Instant) -> Bool {
        guard let count else { return true }
        return now - count.since >= (isInUse ? Self.longestCount : Self.shortestCount)
    }

    private mutating func countAnew(_ frames: UInt64, at now: Instant) { count = (frames, now) }

    /// Frame rate at which three frames are probably lost while three beacons are missing. Connectivity checks send
    /// fewer frames.
    static let framesPerSecond = 10.0
    /// Measuring interval while the device is idle.
    static let shortestCount = Duration.seconds(5)
    /// Measuring interval while the device is active.
    static let longestCount = Duration.seconds(10)
}
