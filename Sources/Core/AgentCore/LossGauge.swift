import AgentModel

/// What share of the air's frames a link loses, whatever its signal: by the beacons that the radio counts anyway. It costs no traffic.
///
/// An access point says how often it sends a beacon, and the driver how many came. Drivers that let the firmware look at beacons
/// count few of them, so a link is held against the best share that it had itself.
struct LossGauge: Sendable {
    private var last: (at: Instant, beacons: UInt64)?
    /// The greatest share of beacons that came in one interval, 0 to 1.
    private var best = 0.0

    /// When the policy was told last, and whether all was well then.
    private var told: (at: Instant, isWell: Bool)?
    /// Whether frames were lost when that was last known.
    private(set) var isLosing = false

    /// Fewer beacons than this to be expected say nothing.
    private static let least = 40.0
    /// A driver that counts a smaller share than this counts something else.
    private static let leastShare = 0.5
    private static let usualInterval = Duration.microseconds(102_400)
    /// After a longer silence counting begins anew.
    private static let longest = Duration.seconds(60)

    /// While the radio scans, beacons are not counted: what was counted up to now is of no use.
    mutating func scanned() { last = nil }

    /// The link is another one.
    mutating func startOver() { self = LossGauge() }

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
        guard let beacons = station.beaconsReceived else { return nil }
        let before = last
        last = (now, beacons)
        guard let before, beacons >= before.beacons, now > before.at, now - before.at <= Self.longest else {
            return nil
        }
        let interval = station.beaconInterval.flatMap { $0 >= .milliseconds(10) ? $0 : nil } ?? Self.usualInterval
        let expected = (now - before.at) / interval
        guard expected >= Self.least else { return nil }
        let share = min(1, Double(beacons - before.beacons) / expected)
        best = max(best, share)
        guard best >= Self.leastShare else { return nil }
        return Int(((1 - share / best) * 100).rounded())
    }
}
