import AgentModel

/// The access point in use has announced the end of the link, or asks the device to move (BSS transition management,
/// IEEE 802.11-2020, 9.6.13.9). Without frame protection any sender can forge this. So the device only moves within the
/// network, to an access point that was seen since, is not blocked and not faint, and within limits.
struct DepartureNotice: Hashable, Sendable {
    let since: Instant
    /// When the link will end, or a wish expires.
    let until: Instant
    /// Whether the access point only asks, and the link stays if the device does.
    let isWish: Bool

    static let longest = Duration.seconds(60)
    static let pause = Duration.seconds(1)
    /// How long a wish is followed, with a scan after each pause.
    static let wishLimit = Duration.seconds(10)
    static let wishPause = Duration.seconds(4)
    /// Signal deficit that a wish makes up for, in dB.
    static let wishWeight = 6
    /// Channels of other access points that are remembered.
    static let neighbourLimit = 8
}

/// Moves that access points have asked for, so that they do not send the device in a circle.
struct Steers: Sendable {
    private var moves: [(from: BSSID, at: Instant)] = []
    private var lastWish: Instant?
    private var isReported = false

    static let limit = 3
    static let window = Duration.seconds(600)
    /// Wishes sooner after the last one than this are ignored.
    static let wishInterval = Duration.seconds(60)

    mutating func steered(from bssid: BSSID, at now: Instant) {
        moves = moves.filter { now - $0.at <= Self.window } + [(bssid, now)]
        isReported = false
    }

    func allowsAnother(at now: Instant) -> Bool { moves.count { now - $0.at <= Self.window } < Self.limit }

    func wasLeft(_ bssid: BSSID, at now: Instant) -> Bool {
        moves.contains { $0.from == bssid && now - $0.at <= Self.window }
    }

    /// - Returns: false if the wish comes too soon.
    mutating func hear(at now: Instant) -> Bool {
        if let lastWish, now - lastWish < Self.wishInterval { return false }
        lastWish = now
        return true
    }

    /// - Returns: true the first time the limit is hit.
    mutating func report() -> Bool {
        defer { isReported = true }
        return !isReported
    }
}

extension FailoverPolicy {
    mutating func askedToLeave(within time: Duration) {
        guard case .online = phase else { return }
        note(until: now + min(max(time, DepartureNotice.pause), DepartureNotice.longest), isWish: false)
        proceed()
    }

    mutating func askedToMove() {
        // The same request may have announced the end of the link.
        guard case .online = phase, departureNotice == nil, steers.hear(at: now) else { return }
        note(until: now + DepartureNotice.wishLimit, isWish: true)
        proceed()
    }

    private mutating func note(until: Instant, isWish: Bool) {
        // Repeated requests do not cause repeated scans.
        scans[.transition].due = max(now, departureNotice.flatMap { _ in scans[.transition].due } ?? now)
        departureNotice = DepartureNotice(since: now, until: until, isWish: isWish)
    }

    /// Notes the channel of another access point, named by the one in use (IEEE 802.11-2020, 9.6.6.7).
    mutating func heardOf(_ neighbour: BSSID, on frequency: Frequency) {
        guard case .online(let link) = phase, neighbour != link.accessPoint.bssid,
            neighbours.count < DepartureNotice.neighbourLimit
        else { return }
        neighbours.insert(frequency)
    }

    /// Channels to scan first for other access points of a link's network: where it was ever seen, and those that the
    /// access point in use has named.
    func places(beside link: Link) -> Set<Frequency> { neighbours.union(scanCache.places(of: link.network)) }

    /// Moves to another access point of the network if the one in use will end the link or asks for it.
    /// - Returns: whether the device leaves the link.
    mutating func followNotice(_ link: Link) -> Bool {
        guard let notice = departureNotice else { return false }
        guard now < notice.until, limits.allow(roam: true, toClearlyGood: true, at: now, settings: settings)
        else {
            departureNotice = nil
            return false
        }
        guard steers.allowsAnother(at: now) else {
            departureNotice = nil
            if steers.report() {
                record(.stay, from: link.network, fromBSSID: link.accessPoint.bssid, .steeredTooOften)
            }
            return false
        }
        let level = monitor.level.map { settings.headroom($0, on: link.accessPoint.frequency) }
        let other = accessPoints(at: now, since: notice.since).first { candidate in
            candidate.network.id == link.network && candidate.bss.bssid != link.accessPoint.bssid
                && candidate.rank.reputation <= .suspect && isOpen(candidate, at: now)
                && (notice.isWish
                    ? isWorthTheWish(candidate, headroom: level) : candidate.rank.quality <= .usable)
        }
        if let other {
            departureNotice = nil
            steers.steered(from: link.accessPoint.bssid, at: now)
            depart(from: link, to: other, .steered)
            return true
        }
        if scans.isDue(.transition, at: now) {
            orderScan(places(beside: link).sorted(), for: .transition, as: .weak)
            scans[.transition].due = now + (notice.isWish ? DepartureNotice.wishPause : DepartureNotice.pause)
        }
        return false
    }

    /// Whether a candidate is worth leaving a link that would stay: it is good and sound, was not left for such a
    /// request lately, and is at most `wishWeight` weaker.
    /// - Parameter headroom: the link's headroom in dB; nil where it was not measured.
    private func isWorthTheWish(_ candidate: Candidate, headroom: Int?) -> Bool {
        candidate.rank.quality == .good && candidate.rank.reputation == .sound
            && !steers.wasLeft(candidate.bss.bssid, at: now)
            && headroom.map { candidate.rank.headroom >= $0 - DepartureNotice.wishWeight } ?? true
    }

    /// Time of the notice's next scan.
    var noticeMoment: Instant? {
        departureNotice.flatMap { notice in scans[.transition].due.flatMap { $0 < notice.until ? $0 : nil } }
    }
}
