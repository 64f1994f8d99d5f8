import AgentModel

/// What share of frames a link loses, whatever its signal: by what the radio counts anyway. It costs no traffic.
///
/// **Beacons**: an access point says how often it sends one, and the driver how many came. Drivers that let the firmware look at
/// beacons count few of them, so a link is held against the best share that there was on any. **Frames**: of those that the device has sent,
/// the driver says how many were never acknowledged. Where both say something the greater share counts: beacons are sent at the lowest
/// rate, and frames are sent again.
struct LossGauge: Sendable {
    /// Whose links are measured.
    private var station: StationID?
    private var last: (at: Instant, station: StationInfo)?
    /// The greatest share of beacons that came in one interval, 0 to 1, on any link of each station: a handover leads back to the other.
    private var bests: [StationID?: Double] = [:]
    private var best: Double {
        get { bests[station, default: 0] }
        set { bests[station] = newValue }
    }

    /// When the policy was told last, and whether all was well then.
    private var told: (at: Instant, isWell: Bool)?
    /// Whether frames were lost when that was last known.
    private(set) var isLosing = false

    /// Fewer beacons than this to be expected say nothing, and neither do fewer frames.
    private static let leastBeacons = 40.0
    private static let leastFrames: UInt32 = 50
    /// A driver that counts a smaller share than this counts something else.
    private static let leastShare = 0.5
    /// On a link that lives. The kernel takes one for lost that misses more: from then on the firmware keeps them to itself.
    private static let mostLost = 0.9
    private static let usualInterval = Duration.microseconds(102_400)
    /// After a longer silence counting begins anew.
    private static let longest = Duration.seconds(60)

    /// While the radio scans, beacons are not counted: what was counted up to now is of no use.
    mutating func scanned() { last = nil }

    /// The link is another one. The best share that the driver of the same station has counted stays: an access point that the device
    /// returns to while its channel is jammed has no better one of its own.
    mutating func startOver(on station: StationID) {
        let bests = bests
        self = LossGauge()
        (self.station, self.bests) = (station, bests)
    }

    /// Whether a measurement is worth a decision. While nothing is lost and the signal is strong, one in five minutes is: the kernel tells
    /// of a crossing by itself.
    ///
    /// - Parameter threshold: of the kernel's watch, in dBm; nil where it is not known.
    mutating func isNews(_ reading: Int, _ share: Int?, below threshold: Int?, at now: Instant) -> Bool {
        if let share { isLosing = share >= Self.trifle }
        let isWell = !isLosing && threshold.map { reading > $0 + Self.clear } ?? false
        if isWell, let told, told.isWell, now - told.at < Self.calm { return false }
        told = (now, isWell)
        return true
    }

    private static let calm = Duration.seconds(300)
    /// In dB.
    private static let clear = 2
    /// In percent; less is lost in any air.
    private static let trifle = 10

    /// Takes in the driver's counts.
    /// - Returns: the share lost since the last time, in percent; nil where nothing can be said.
    mutating func counted(_ station: StationInfo, at now: Instant) -> Int? {
        let before = last
        last = (now, station)
        guard let before, now > before.at, now - before.at <= Self.longest else { return nil }
        let shares = [
            beaconsLost(before.station, station, in: now - before.at), Self.framesLost(before.station, station),
        ]
        return shares.compactMap(\.self).max().map { Int(($0 * 100).rounded()) }
    }

    /// 0 to 1.
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

    /// 0 to 1. Counts of 32 bits begin anew after the last one.
    private static func framesLost(_ before: StationInfo, _ after: StationInfo) -> Double? {
        guard let sentBefore = before.transmitPackets, let sent = after.transmitPackets,
            let failedBefore = before.transmitFailed, let failed = after.transmitFailed
        else { return nil }
        let (all, lost) = (sent &- sentBefore, failed &- failedBefore)
        // What goes back, or further than it can, is another link's.
        guard (leastFrames...credible).contains(all), lost <= all else { return nil }
        return Double(lost) / Double(all)
    }

    /// More frames than a radio sends in a minute.
    private static let credible: UInt32 = 10_000_000
}
