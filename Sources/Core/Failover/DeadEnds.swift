import AgentModel

/// The access points over which a network led nowhere. A repeater may have lost its own way to the router while the others have theirs.
///
/// One is as useless as its network until its block is over, and for as long again it comes after those that are not known to lead nowhere.
struct DeadEnds: Hashable {
    private var ends: [BSSID: End] = [:]

    private struct End: Hashable {
        var block: Block
        var since: Instant

        func isKnown(at now: Instant) -> Bool {
            guard let until = block.until else { return false }
            return now < until + max(.zero, until - since)
        }
    }

    mutating func ledNowhere(_ bssid: BSSID, _ failure: JoinFailure, at now: Instant, settings: PolicySettings) {
        var block = ends[bssid]?.block ?? Block(failure)
        if !block.isActive(at: now) {
            _ = block.strike(failure, isDecisive: true, signal: nil, at: now, settings: settings)
        }
        ends[bssid] = End(block: block, since: now)
        ends.forgetEarliest(beyond: ScanCache.accessPointsPerNetwork) { $0.since }
    }

    mutating func leads(_ bssid: BSSID) { ends[bssid] = nil }

    /// The network may lead somewhere again by all of them.
    mutating func pardon(at now: Instant) {
        for bssid in ends.keys { ends[bssid]?.block.pardon(at: now) }
    }

    /// Whether it led nowhere over this one of late.
    func contains(_ bssid: BSSID, at now: Instant) -> Bool { ends[bssid]?.isKnown(at: now) ?? false }

    /// When it was found that it led nowhere over this one.
    func since(_ bssid: BSSID) -> Instant? { ends[bssid]?.since }

    /// Why it leads nowhere over this one, until its block is over.
    func failure(of bssid: BSSID, at now: Instant) -> JoinFailure? {
        ends[bssid].flatMap { $0.block.isActive(at: now) ? $0.block.failure : nil }
    }

    /// Whether it leads nowhere over others, and this one was not tried.
    func spare(_ bssid: BSSID, at now: Instant) -> Bool {
        !contains(bssid, at: now) && ends.values.contains { $0.block.isActive(at: now) }
    }
}
