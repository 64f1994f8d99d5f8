import AgentModel

/// Measures frame loss of a link from the radio's counters, without traffic.
///
/// **Beacons**: the received share of the expected beacons. Some drivers count only a part of them, so the best share
/// seen on the station is the reference. **Frames**: the share of sent frames that were never acknowledged. The greater
/// loss counts, because either may hide losses: beacons use the lowest rate, and frames are retransmitted.
struct FrameLossMeter: Sendable {
    private var station: StationID?
    private var last: (at: Instant, station: StationInfo)?
    /// Best share of received beacons in one interval, 0 to 1, by station.
    private var bests: [StationID?: Double] = [:]
    private var best: Double {
        get { bests[station, default: 0] }
        set { bests[station] = newValue }
    }

    /// Last report to the policy, and whether the link was good then.
    private var lastReported: (at: Instant, isWell: Bool)?
    /// Whether the last known loss was significant.
    private(set) var isLosing = false

    /// Minimum number of expected beacons for a result.
    private static let leastBeacons = 40.0
    /// Minimum number of sent frames for a result.
    private static let leastFrames: UInt32 = 50
    /// Minimum share of received beacons. Drivers with a lower share count something else.
    private static let leastShare = 0.5
    /// Maximum plausible loss on a live link. Above it, the firmware no longer reports beacons.
    private static let mostLost = 0.9
    private static let usualInterval = Duration.microseconds(102_400)
    /// Maximum interval between two reads. After a longer one, the measurement starts over.
    private static let longest = Duration.seconds(60)

    /// Discards the counters: beacons are not counted during a scan.
    mutating func scanned() { last = nil }

    /// Starts over for another link. The best shares stay, because the new link may be congested from the start.
    mutating func startOver(on station: StationID) {
        let bests = bests
        self = FrameLossMeter()
        (self.station, self.bests) = (station, bests)
    }

    /// Whether a measurement is worth a policy decision. With a strong signal and without loss, one in five minutes
    /// suffices, because the kernel reports threshold crossings.
    /// - Parameter threshold: Threshold of the kernel in dBm; nil if unknown.
    mutating func isNews(_ reading: Int, _ share: Int?, below threshold: Int?, at now: Instant) -> Bool {
        if let share { isLosing = share >= Self.trifle }
        let isWell = !isLosing && threshold.map { reading > $0 + Self.clear } ?? false
        if isWell, let lastReported, lastReported.isWell, now - lastReported.at < Self.calm { return false }
        lastReported = (now, isWell)
        return true
    }

    /// Interval of reports on a good link.
    private static let calm = Duration.seconds(300)
    /// Distance to the threshold in dB from which a signal is strong.
    private static let clear = 2
    /// Loss in percent from which it is significant.
    private static let trifle = 10

    /// - Returns: loss since the last call in percent; nil if unknown.
    mutating func counted(_ station: StationInfo, at now: Instant) -> Int? {
        let before = last
        last = (now, station)
        guard let before, now > before.at, now - before.at <= Self.longest else { return nil }
        let shares = [
            beaconsLost(before.station, station, in: now - before.at), Self.framesLost(before.station, station),
        ]
        return shares.compactMap(\.self).max().map { Int(($0 * 100).rounded()) }
    }

    /// Share of lost beacons, 0 to 1.
    private mutating func beaconsLost(_ before: StationInfo, _ after: StationInfo, in time: Duration) -> Double? {
        guard let start = before.beaconsReceived, let end = after.beaconsReceived, end >= start else { return nil }
        let interval = after.beaconInterval.flatMap { $0 >= .milliseconds(10) ? $0 : nil } ?? Self.usualInterval
        let expected = time / interval
        guard expected >= Self.leastBeacons else { return nil }
        let share = min(1, Double(end - start) / expected)
        best = max(best, share)
        guard best >= Self.leastShare else { return nil }
        let lost = 1 - share / best
        guard lost <= Self.mostLost else {
            best = 0
            return nil
        }
        return lost
    }

    /// Share of lost frames, 0 to 1. The 32-bit counters may wrap around.
    private static func framesLost(_ before: StationInfo, _ after: StationInfo) -> Double? {
        guard let sentBefore = before.transmitPackets, let sent = after.transmitPackets,
            let failedBefore = before.transmitFailed, let failed = after.transmitFailed
        else { return nil }
        let (all, lost) = (sent &- sentBefore, failed &- failedBefore)
        // Implausible values belong to another link.
        guard (leastFrames...credible).contains(all), lost <= all else { return nil }
        return Double(lost) / Double(all)
    }

    /// Plausible maximum number of frames in a minute.
    private static let credible: UInt32 = 10_000_000
}
