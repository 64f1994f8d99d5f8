import AgentModel

/// Sleep of the radio between beacons. The access point buffers frames for a sleeping radio and announces them in the
/// next beacon.
struct PowerSave: Equatable {
    var mode = Mode.off
    /// Idle time after which the radio sleeps in mode `fast`.
    var sleepAfter = Duration.milliseconds(200)
    private var lastFrame: Instant?

    enum Mode: UInt32 {
        case off = 0
        case constant = 1
        /// The radio sleeps after ``sleepAfter`` without traffic.
        case fast = 2
    }

    mutating func wake(at now: Instant) { lastFrame = max(lastFrame ?? now, now) }

    /// Returns the time at which a frame that the access point sends now reaches the host.
    /// - Parameters:
    ///   - start: time of any beacon of the access point.
    ///   - interval: time between beacons.
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
