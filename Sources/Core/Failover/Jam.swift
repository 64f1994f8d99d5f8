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

    /// One sample says enough.
    var isHeavy: Bool { share >= 0.3 }

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
        own.map { Self.overlap($0, other) } ?? false
    }

    static func overlap(_ one: Frequency, _ other: Frequency) -> Bool {
        abs(one.megahertz - other.megahertz) < width
    }
}

/// Channels that were left for being jammed: no way out of another jam, for a while.
struct JammedChannels: Sendable, Hashable {
    private var left: [Frequency: Instant] = [:]

    private static let memory = Duration.seconds(300)
    private static let channels = 4

    mutating func leave(_ frequency: Frequency?, at now: Instant) {
        guard let frequency else { return }
        left[frequency] = now
        left.forgetEarliest(beyond: Self.channels) { $0 }
    }

    func contains(_ frequency: Frequency, at now: Instant) -> Bool {
        left.contains { now - $0.value <= Self.memory && Jam.overlap($0.key, frequency) }
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
        if isJammed, !wasJammed {
            weakness.nextScan = now
            if jam.isHeavy { weakness.regret.credit(jam.share * Double(settings.calmSampling.milliseconds) / 1000) }
        }
        if !isJammed, wasJammed, weakness.verdict == .fine, link.uselessness == nil { weakness.nextScan = nil }
        proceed(at: now, &actions)
    }

    /// Whether an access point is worth a move from a link whose channel is jammed: it is sound and no worse than usable, on another
    /// channel that was not left for a jam itself, and staying has cost as much as the move.
    func isWayOutOfJam(_ candidate: Candidate, of link: Link, at now: Instant) -> Bool {
        guard candidate.rank.reputation == .sound, candidate.rank.quality <= .usable,
            !jam.reaches(candidate.bss.frequency, from: link.accessPoint.frequency),
            !jammedChannels.contains(candidate.bss.frequency, at: now)
        else { return false }
        return isMovePaid(from: link, to: candidate.network.id)
    }
}
