import AgentModel

/// Frames that the link in use loses at whatever signal: another radio or an oven drowns its channel.
struct Jam: Sendable, Hashable {
    /// Of the last interval, 0 to 1; what is less than `least` counts as nothing.
    private(set) var share = 0.0
    private var at: Instant?

    /// Some are lost in any busy air.
    private static let least = 10
    /// Channels that are closer than this overlap, in MHz.
    private static let width = 22

    /// What is older than this is nothing that is known.
    private static let memory = Duration.seconds(120)

    mutating func forget(at now: Instant) {
        if let at, now - at > Self.memory { self = Jam() }
    }

    mutating func lost(_ percent: Int, at now: Instant) {
        at = now
        let percent = min(100, max(0, percent))
        share = percent < Self.least ? 0 : Double(percent) / 100
    }

    /// Whether what drowns a link's channel drowns another one.
    func reaches(_ other: Frequency, from own: Frequency?) -> Bool {
        guard let own else { return false }
        return abs(own.megahertz - other.megahertz) < Self.width
    }
}

extension FailoverPolicy {
    /// Whether more frames are lost on the link in use than its signal explains: it is not weak.
    var isJammed: Bool {
        guard jam.share > 0, let accessPoint = phase.accessPoint, let level = weakness.judge.level else { return false }
        return level >= settings.thresholds(for: accessPoint.frequency).weak
    }

    mutating func lost(_ percent: Int, at now: Instant, _ actions: inout [PolicyAction]) {
        guard case .online(let link) = phase else { return }
        let wasJammed = isJammed
        jam.lost(percent, at: now)
        // Once at the beginning, to know what else there is.
        if isJammed, !wasJammed { weakness.nextScan = now }
        if !isJammed, wasJammed, weakness.verdict == .fine, link.uselessness == nil { weakness.nextScan = nil }
        proceed(at: now, &actions)
    }

    /// Whether an access point is worth a move from a link whose channel is jammed: it is sound and no worse than usable, on another
    /// channel, and staying has cost as much as the move.
    func isWayOutOfJam(_ candidate: Candidate, of link: Link) -> Bool {
        guard candidate.rank.reputation == .sound, candidate.rank.quality <= .usable,
            !jam.reaches(candidate.bss.frequency, from: link.accessPoint.frequency)
        else { return false }
        return isMovePaid(from: link, to: candidate.network.id)
    }
}
