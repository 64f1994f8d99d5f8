import AgentModel

/// Decides on power save by the traffic of the interface. Power save is off during use and for 30 s after, because it
/// delays the first packets to an idle device.
package struct PowerSaveByTraffic: Sendable {
    package private(set) var isOn = false
    private var last: (frames: UInt64, at: Instant)?
    private var lastUse: Instant?

    package init() {}

    /// - Parameter frames: Nil without an interface.
    /// - Returns: new setting; nil if unchanged.
    package mutating func counted(_ frames: LinkFrames?, at now: Instant) -> Bool? {
        let total = frames.map { $0.sent &+ $0.received }
        defer { last = total.map { ($0, now) } }
        // A reset driver restarts its counters and loses its settings.
        guard let total, let last, total >= last.frames else {
            lastUse = now
            return change(to: false)
        }
        let seconds = max((now - last.at) / .seconds(1), 0.1)
        if Double(total - last.frames) >= Self.framesPerSecond * seconds { lastUse = now }
        return change(to: now - (lastUse ?? now) >= Self.patience)
    }

    private mutating func change(to isOn: Bool) -> Bool? {
        guard isOn != self.isOn else { return nil }
        self.isOn = isOn
        return isOn
    }

    /// Frames per second that mean use, above the device's background traffic and broadcasts.
    static let framesPerSecond = 2.0
    /// Idle time before power save.
    static let patience = Duration.seconds(30)
    /// Interval between reads.
    package static let interval = Duration.seconds(5)
}
