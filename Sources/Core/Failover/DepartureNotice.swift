import AgentModel

/// The access point in use has said that it will end the link (BSS transition management, IEEE 802.11-2020, 9.6.13.9). Where
/// it is not protected, any sender can say so in its name: so it moves the device to another access point of the same network
/// alone, to one that was seen since, is no fainter than where a link stays usable and has nothing held against it, and
/// within the limit of all departures.
struct DepartureNotice: Hashable, Sendable {
    let bssid: BSSID
    let since: Instant
    /// When the link is said to end.
    let until: Instant
    var nextScan: Instant

    static let longest = Duration.seconds(60)
    static let pause = Duration.seconds(1)
}

extension FailoverPolicy {
    mutating func askedToLeave(within time: Duration, at now: Instant, _ actions: inout [PolicyAction]) {
        guard case .online(let link) = phase else { return }
        let bssid = link.accessPoint.bssid
        // One request after the other is no scan after the other.
        let nextScan = departureNotice.flatMap { $0.bssid == bssid ? $0.nextScan : nil }
        departureNotice = DepartureNotice(
            bssid: bssid, since: now, until: now + min(max(time, DepartureNotice.pause), DepartureNotice.longest),
            nextScan: max(now, nextScan ?? now))
        proceed(at: now, &actions)
    }

    /// Goes to another access point of the network while the one in use says that it will end the link.
    /// - Returns: whether the link is left.
    mutating func followNotice(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) -> Bool {
        guard let notice = departureNotice else { return false }
        guard notice.bssid == link.accessPoint.bssid, now < notice.until,
            roamDamping.allowsDeparture(at: now, settings: settings)
        else {
            departureNotice = nil
            return false
        }
        let other = accessPoints(at: now, since: notice.since).first { candidate in
            candidate.network.id == link.network && candidate.bss.bssid != notice.bssid
                && candidate.rank.quality <= .usable && candidate.rank.reputation <= .suspect
                && isOpen(candidate, at: now)
        }
        if let other {
            departureNotice = nil
            depart(from: link, to: other, .steered, at: now, &actions)
            return true
        }
        if notice.nextScan <= now, canScan {
            departureNotice?.nextScan = now + DepartureNotice.pause
            orderScan(scanCache.places(of: link.network).sorted(), reason: .weak, at: now, &actions)
        }
        return false
    }

    /// Time of the next scan for it.
    func noticeMoment(_ link: Link) -> Instant? {
        departureNotice.flatMap { $0.bssid == link.accessPoint.bssid && $0.nextScan < $0.until ? $0.nextScan : nil }
    }
}
