import AgentModel

/// How many frames an interface has sent and received in all, since some moment of the driver's choice.
package struct LinkFrames: Sendable, Hashable {
    package var sent: UInt64
    package var received: UInt64

    package init(sent: UInt64, received: UInt64) { (self.sent, self.received) = (sent, received) }
}

/// Whether the device sends much: only then an access point is watched closely, which wakes the processor.
struct TrafficGauge: Sendable {
    /// Since when the device's frames are counted, and how many there had been.
    private var count: (frames: UInt64, since: Instant)?
    private(set) var isInUse = false

    /// Takes in how many frames the device has sent in all. To be called whenever the processor is awake.
    /// - Returns: whether they have told anything.
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

    /// Whether the number of frames that the device has sent is of any use now.
    func isCountDue(at now: Instant) -> Bool {
        guard let count else { return true }
        return now - count.since >= (isInUse ? Self.longestCount : Self.shortestCount)
    }

    private mutating func countAnew(_ frames: UInt64, at now: Instant) { count = (frames, now) }

    /// So many make it likely that three are lost while three beacons are missing. Frames that the agent itself sends
    /// to see whether the network leads somewhere are fewer.
    static let framesPerSecond = 10.0
    /// A device is in use when it has sent that many for so long, and no more when it has not.
    static let shortestCount = Duration.seconds(5)
    static let longestCount = Duration.seconds(10)
}
