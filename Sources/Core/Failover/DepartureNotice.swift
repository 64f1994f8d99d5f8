import AgentModel

/// The access point in use has said that it will end the link, or wishes that the device moves (BSS transition management, IEEE
/// 802.11-2020, 9.6.13.9). Where it is not protected, any sender can say so in its name: so it moves the device to another access
/// point of the same network alone, to one that was seen since, is no fainter than where a link stays usable and has nothing held
/// against it, and within limits.
struct DepartureNotice: Hashable, Sendable {
    let since: Instant
    /// When the link is said to end, or the wish is no longer followed.
    let until: Instant
    /// Whether the link stays if the device does.
    let isWish: Bool

    static let longest = Duration.seconds(60)
    static let pause = Duration.seconds(1)
    /// A wish is followed for so long, with a scan each of these pauses.
    static let wishLimit = Duration.seconds(10)
    static let wishPause = Duration.seconds(4)
    /// The signal that a wish makes up for, in dB.
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
    /// Wishes are heard no more often than this.
    static let wishInterval = Duration.seconds(60)

    mutating func steered(from bssid: BSSID, at now: Instant) {
        moves = moves.filter { now - $0.at <= Self.window } + [(bssid, now)]
        isReported = false
    }

    func allowsAnother(at now: Instant) -> Bool { moves.count { now - $0.at <= Self.window } < Self.limit }

    func wasLeft(_ bssid: BSSID, at now: Instant) -> Bool {
        moves.contains { $0.from == bssid && now - $0.at <= Self.window }
    }

    /// - Returns: whether a wish is heard now.
    mutating func hear(at now: Instant) -> Bool {
        if let lastWish, now - lastWish < Self.wishInterval { return false }
        lastWish = now
        return true
    }

    /// - Returns: whether that no more are followed is news.
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
        // That the link will end was said in the same request.
        guard case .online = phase, departureNotice == nil, steers.hear(at: now) else { return }
        note(until: now + DepartureNotice.wishLimit, isWish: true)
        proceed()
    }

    private mutating func note(until: Instant, isWish: Bool) {
        // One request after the other is no scan after the other.
        scans[.transition].due = max(now, departureNotice.flatMap { _ in scans[.transition].due } ?? now)
        departureNotice = DepartureNotice(since: now, until: until, isWish: isWish)
    }

    /// Notes the channels of other access points, as the one in use has named them (IEEE 802.11-2020, 9.6.6.7).
    mutating func heardOf(_ neighbour: BSSID, on frequency: Frequency) {
        guard case .online(let link) = phase, neighbour != link.accessPoint.bssid,
            neighbours.count < DepartureNotice.neighbourLimit
        else { return }
        neighbours.insert(frequency)
    }

    /// The channels that other access points of the network of a link are looked for on first: those where it was ever seen, and those
    /// that the access point in use has named.
    func places(beside link: Link) -> Set<Frequency> { neighbours.union(scanCache.places(of: link.network)) }

    /// Goes to another access point of the network while the one in use says that it will end the link, or wishes it.
    /// - Returns: whether the link is left.
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

    /// Whether a link that would stay is left for another access point that is wished for: one that is good and sound, was not left for
    /// such a wish lately, and is no weaker than a wish makes up for.
    /// - Parameter headroom: of the link; nil where it was not measured.
    private func isWorthTheWish(_ candidate: Candidate, headroom: Int?) -> Bool {
        candidate.rank.quality == .good && candidate.rank.reputation == .sound
            && !steers.wasLeft(candidate.bss.bssid, at: now)
            && headroom.map { candidate.rank.headroom >= $0 - DepartureNotice.wishWeight } ?? true
    }

    /// Time of the next scan for it.
    var noticeMoment: Instant? {
        departureNotice.flatMap { notice in scans[.transition].due.flatMap { $0 < notice.until ? $0 : nil } }
    }
}
