import AgentModel

/// Whether the radio may sleep between beacons, by what goes over its interface: it is awake while the device is used, and
/// for a while after. The first packets to a device that was left alone come late.
package struct PowerSaveByTraffic: Sendable {
    /// Whether the radio may sleep.
    package private(set) var isOn = false
    private var last: (frames: UInt64, at: Instant)?
    private var lastUse: Instant?

    package init() {}

    /// Takes in the interface's counts.
    /// - Parameter frames: nil while there is no interface.
    /// - Returns: what is to be set; nil where nothing changes.
    package mutating func counted(_ frames: LinkFrames?, at now: Instant) -> Bool? {
        let total = frames.map { $0.sent &+ $0.received }
        defer { last = total.map { ($0, now) } }
        // A driver that begins anew counts anew, and has forgotten what was set.
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

    /// The device's own housekeeping, and what a network calls to all, is less.
    static let framesPerSecond = 2.0
    /// It may sleep when it has not been used for so long.
    static let patience = Duration.seconds(30)
    /// Between two counts.
    package static let interval = Duration.seconds(5)
}
