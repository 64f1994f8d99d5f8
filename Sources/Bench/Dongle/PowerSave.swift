import AgentModel

/// The radio's sleep between beacons: the access point keeps the frames for a station that sleeps, and it hears at the next
/// beacon that there are some.
struct PowerSave: Equatable {
    var mode = Mode.off
    /// In the mode `fast`: how long it stays awake after the last frame.
    var sleepAfter = Duration.milliseconds(200)
    private var lastFrame: Instant?

    /// As the driver sets it.
    enum Mode: UInt32 {
        case off = 0
        /// Asleep whenever nothing is sent.
        case constant = 1
        /// Asleep when there has been no traffic for a while.
        case fast = 2
    }

    /// The host sends a frame, or a link is made: the radio is awake.
    mutating func wake(at now: Instant) { lastFrame = max(lastFrame ?? now, now) }

    /// When a frame that comes now reaches the host.
    /// - Parameters:
    ///   - start: when one of the access point's beacons was sent.
    ///   - interval: between two beacons.
    mutating func arrival(at now: Instant, beaconsSince start: Instant, every interval: Duration) -> Instant {
        let period = max(interval.milliseconds, 1)
        let passed = max((now - start).milliseconds, 0)
        let arrival = isAsleep(at: now) ? start + .milliseconds((passed / period + 1) * period) : now
        wake(at: arrival)
        return arrival
    }

    private func isAsleep(at now: Instant) -> Bool {
        switch mode {
        case .off: false
        case .constant: true
        case .fast: lastFrame.map { now - $0 >= sleepAfter } ?? false
        }
    }
}
