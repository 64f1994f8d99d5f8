import AgentModel

/// An access point of a known network in range, as the ranking sees it.
struct Candidate: Hashable {
    let network: KnownNetwork
    let bss: BSS
    let rank: Rank
}

/// Ranks are compared part by part, and the first difference decides: no signal makes up for an earlier part.
struct Rank: Hashable, Comparable {
    let reputation: NetworkHistory.Reputation
    let quality: Quality
    /// Last turn of this access point or its kind. The access points of a failed network take turns.
    let turn: Instant
    /// Whether its network's links are short, or it lately had no internet access.
    let isUnreliable: Bool
    let isPreferred: Bool
    /// Whether it is open, and another access point of the network encrypts (OWE).
    let isPlainHalf: Bool
    /// Whether the network's key has opened it: anyone can copy a name.
    let isVerified: Bool
    /// Signal above the weak threshold of its band, in dB, so that bands can be compared, less `BSS.loadPenalty`.
    let headroom: Int
    let order: Int
    let bssid: BSSID

    enum Quality: Int, Comparable {
        case good, usable, faint

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether `left` comes first.
    static func < (left: Self, right: Self) -> Bool {
        left.key == right.key ? left.tieBreak < right.tieBreak : left.key < right.key
    }

    private var key: (Int, Int, Instant, Int, Int) {
        let claims = (isUnreliable ? 8 : 0) + (isPreferred ? 0 : 4) + (isPlainHalf ? 2 : 0) + (isVerified ? 0 : 1)
        return (reputation.rawValue, quality == .faint ? 1 : 0, turn, quality.rawValue, claims)
    }

    private var tieBreak: (Int, Int, BSSID) { (-headroom, order, bssid) }
}

extension BSS {
    /// Deduction for a busy channel, 0 to 10 dB: about 10 lg of the share of time that is free. It ranks access points,
    /// but no link is left because of it: the device's own traffic is part of the load.
    var loadPenalty: Int {
        switch channelUtilization ?? 0 {
        case ..<128: 0
        case ..<192: 3
        case ..<230: 6
        default: 10
        }
    }
}

extension PolicySettings {
    /// How far a signal is above where it gets weak, in dB; negative below.
    func headroom(_ signal: Int, on frequency: Frequency?) -> Int { signal - thresholds(for: frequency).weak }
}

extension FailoverPolicy {
    /// The network that the device belongs in.
    var preferred: NetworkID? { (visit ?? choice)?.network ?? networks.first(where: \.isPreferred)?.id }

    /// The best access point of a network that was seen lately. One that is blocked is better than none.
    /// - Parameter earliest: start of the time in which it was seen; nil for the last `freshness`.
    func observation(of network: NetworkID, since earliest: Instant? = nil) -> BSS? {
        self.network(network).flatMap { best(of: $0, order: 0, since: earliest) }?.bss
    }

    private func best(of network: KnownNetwork, order: Int, since earliest: Instant? = nil) -> Candidate? {
        let start = max(earliest ?? .distantPast, now - settings.freshness)
        let all = accessPoints(of: network, order: order, at: now, since: start)
        let open = all.filter { !history(of: network.id).isBlocked($0.bss.bssid, at: now) }
        return (open.isEmpty ? all : open).min { $0.rank < $1.rank }
    }

    func isBlocked(_ network: NetworkID, at now: Instant) -> Bool { history(of: network).isBlocked(at: now) }

    private func headroom(of bss: BSS) -> Int {
        settings.headroom(bss.signal, on: bss.frequency) - bss.loadPenalty
    }

    /// The best access point of each known network in range, the best network first.
    func candidates() -> [Candidate] {
        networks.enumerated().compactMap { order, network in best(of: network, order: order) }
            .sorted { $0.rank < $1.rank }
    }

    /// All access points of known networks in range, the best first.
    /// - Parameter start: earliest observation; nil for the last `freshness`.
    func accessPoints(at now: Instant, since start: Instant? = nil) -> [Candidate] {
        networks.enumerated().flatMap { order, network in
            accessPoints(of: network, order: order, at: now, since: start ?? now - settings.freshness)
        }.sorted { $0.rank < $1.rank }
    }

    /// The access points of a network in range, unsorted.
    private func accessPoints(
        of network: KnownNetwork, order: Int, at now: Instant, since start: Instant
    ) -> [Candidate] {
        // An observation from before the network got lost says nothing.
        let gone = history(of: network.id).goneSince.map { $0 + .milliseconds(1) } ?? .distantPast
        return scanCache.accessPoints(of: network.id, since: max(start, gone))
            .map { candidate($0, of: network, order: order, at: now) }
    }

    /// Whether an access point may be joined now.
    func isOpen(_ candidate: Candidate, at now: Instant) -> Bool {
        isOpen(candidate.bss, of: candidate.network.id, at: now)
    }

    func isOpen(_ bss: BSS, of network: NetworkID, at now: Instant) -> Bool {
        let history = history(of: network)
        return !history.isBlocked(bss.bssid, orAllAt: now) && history.pause(of: bss.bssid, after: now) == nil
    }

    func candidate(_ bss: BSS, of network: KnownNetwork, order: Int, at now: Instant) -> Candidate {
        let history = history(of: network.id)
        let takesTurns = history.block != nil || history.isDistrusted(bss.bssid, at: now)
        let rank = Rank(
            reputation: history.reputation(of: bss.bssid, at: now), quality: quality(of: bss),
            turn: takesTurns ? history.turn(of: bss.bssid) : .distantPast,
            isUnreliable: history.moves.isShortLived || history.isDeadEnd(bss.bssid, at: now),
            isPreferred: network.id == preferred,
            isPlainHalf: isPlainHalf(bss, of: network.id, at: now),
            isVerified: history.verified.contains(bss.bssid), headroom: headroom(of: bss), order: order,
            bssid: bss.bssid)
        return Candidate(network: network, bss: bss, rank: rank)
    }

    /// Whether an access point is the open half of a network that has an encrypted one as well (OWE transition mode).
    private func isPlainHalf(_ bss: BSS, of network: NetworkID, at now: Instant) -> Bool {
        bss.security.isOpenToAll && !bss.protection.contains(.owe)
            && scanCache.accessPoints(of: network, since: now - settings.freshness).contains {
                $0.protection.contains(.owe)
            }
    }

    func quality(of bss: BSS) -> Rank.Quality {
        let thresholds = settings.thresholds(for: bss.frequency)
        return bss.signal >= thresholds.weak ? .good : bss.signal >= thresholds.minimumSignal ? .usable : .faint
    }

    /// The evidence for and against each known network, for the history.
    func considerations(choosing chosen: NetworkID?) -> [PolicyDecision.Consideration] {
        let seen = candidates()
        let unseen = networks.filter { network in !seen.contains { $0.network.id == network.id } }
        return seen.map { consideration($0.network, $0.bss, chosen: chosen) }
            + unseen.map { consideration($0, nil, chosen: chosen) }
    }

    private func consideration(
        _ network: KnownNetwork, _ bss: BSS?, chosen: NetworkID?
    ) -> PolicyDecision.Consideration {
        PolicyDecision.Consideration(
            ssid: network.ssid, bss: bss, verdict: verdict(on: network.id, bss, chosen: chosen))
    }

    private func verdict(on network: NetworkID, _ bss: BSS?, chosen: NetworkID?) -> PolicyDecision.Verdict {
        if network == chosen { return .chosen }
        if network == current { return .current }
        if let block = history(of: network).block, block.isActive(at: now), let until = block.until {
            return .blocked(block.failure, until: until)
        }
        guard let bss else { return refusal(of: network, at: now).map { .refused($0.failure) } ?? .notSeen }
        if let uselessness = history(of: network).uselessness, uselessness.isActive(at: now),
            let until = uselessness.until
        {
            return .unusable(uselessness.failure, until: until)
        }
        return objection(to: bss, of: network) ?? .outranked
    }

    /// Why signals do not justify leaving the link for an access point; nil if they do, or without a link.
    func objection(to bss: BSS, of network: NetworkID) -> PolicyDecision.Verdict? {
        guard case .online(let link) = phase, link.uselessness == nil,
            let level = comparableLevel(of: link)
        else { return nil }
        let steady = scanCache.steadySignal(of: bss, in: network)
        if steady < settings.thresholds(for: bss.frequency).minimumSignal { return .belowFloor }
        let gain =
            settings.headroom(steady, on: bss.frequency) - settings.headroom(level, on: link.accessPoint.frequency)
        if isCongested { return nil }
        // Each decibel counts while frames get lost.
        return gain < (isLosingFrames ? settings.roamMargin : settings.margin) ? .withinMargin(gain) : nil
    }
}

// Queries about a network, for callers.
extension FailoverPolicy {
    /// The access point with a network's name that is refused, if only such were seen lately.
    func refusal(of network: NetworkID, at now: Instant) -> ScanCache.Refusal? {
        guard scanCache.best(of: network, since: now - settings.freshness) == nil else { return nil }
        return scanCache.refusal(of: network, since: now - ScanCache.refusalMemory)
    }

    /// Why an access point with a known network's name is not joined; nil if it may be, or if no known network has its
    /// name.
    public func refusal(of bss: BSS) -> JoinFailure? {
        guard !networks.contains(where: { $0.matches(bss) }) else { return nil }
        return networks.lazy.compactMap { $0.refusal(of: bss) }.first
    }

    /// The networks of which only refused access points were seen lately, with the reasons.
    public func refusals(at now: Instant) -> [(network: KnownNetwork, bss: BSS, failure: JoinFailure)] {
        networks.compactMap { network in refusal(of: network.id, at: now).map { (network, $0.bss, $0.failure) } }
    }

    /// The newest observation of a network, however old. One that its key has opened is preferred, if seen up to 30 s
    /// earlier.
    public func lastObservation(of network: NetworkID) -> BSS? {
        scanCache.latest(of: network, preferring: history(of: network).verified)
    }

    /// The channel on which an access point of a known network was last seen.
    public func frequency(of bssid: BSSID) -> Frequency? { scanCache.frequency(of: bssid) }

    /// The mobility domain that an access point of a known network announces; nil without fast transition.
    public func mobility(of bssid: BSSID) -> MobilityDomain? { scanCache.mobility(of: bssid) }

    /// The access points that have completed a handshake with a network's key, four at most, the latest first. Empty
    /// for a network without a key.
    public func verifiedAccessPoints(of network: NetworkID) -> [BSSID] { history(of: network).verified.all }

    /// Why the last attempt to use a network failed; nil once one succeeded.
    public func lastFailure(of network: NetworkID) -> JoinFailure? { history(of: network).lastFailure }
}
