import AgentModel

/// An access point of a known network in range, as the ranking sees it.
struct Candidate: Hashable {
    let network: KnownNetwork
    let bss: BSS
    let rank: Rank
}

/// Ranks are compared part by part, the first difference decides: no amount of signal makes up for an earlier part.
struct Rank: Hashable, Comparable {
    let reputation: NetworkHistory.Reputation
    let quality: Quality
    /// Links to it were lost again and again of late.
    let isUnstable: Bool
    /// Among networks of one quality the one that the device belongs in comes first.
    let isPreferred: Bool
    /// It encrypts nothing, and another access point of the network does.
    let isPlainHalf: Bool
    /// Whether the network's key has opened it: names are free to take.
    let isProven: Bool
    /// How far the signal is above where its band gets weak, in dB: so that bands can be compared.
    let headroom: Int
    let order: Int
    let bssid: BSSID

    enum Quality: Int, Comparable {
        case good, usable, faint

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether `left` is to be preferred.
    static func < (left: Self, right: Self) -> Bool {
        let key = (left.key, right.key)
        return key.0 == key.1 ? left.bssid < right.bssid : key.0 < key.1
    }

    private var key: (Int, Int, Int, Int, Int) {
        let claims = (isUnstable ? 8 : 0) + (isPreferred ? 0 : 4) + (isPlainHalf ? 2 : 0) + (isProven ? 0 : 1)
        return (reputation.rawValue, quality.rawValue, claims, -headroom, order)
    }
}

extension PolicySettings {
    /// How far a signal is above where it gets weak, in dB; negative below.
    func headroom(_ signal: Int, on frequency: Frequency?) -> Int { signal - thresholds(for: frequency).weak }
}

extension FailoverPolicy {
    /// The network that the device belongs in.
    var preferred: NetworkID? { (visit ?? choice)?.network ?? networks.first(where: \.isPreferred)?.id }

    /// The strongest access point of a network, if it was seen just now and not only before it got lost.
    ///
    /// - Parameter earliest: older observations do not count either.
    func observation(of network: NetworkID, at now: Instant, since earliest: Instant? = nil) -> BSS? {
        let start = horizon(of: network, at: now, since: earliest)
        let history = histories[network]
        // Of one that is blocked it is better to know than of none.
        let all = scanCache.accessPoints(of: network, since: start)
        let open = all.filter { !(history?.isBlocked($0.bssid, at: now) ?? false) }
        // If the network failed, its access points take turns; one with a very weak signal still comes last.
        let isSuspect = history?.block != nil
        func key(_ bss: BSS) -> (Int, Instant, Instant, Int, Int, BSSID) {
            let isFaint = quality(of: bss) == .faint
            let isDeadEnd = history?.isDeadEnd(bss.bssid, at: now) ?? false
            if isSuspect, let history {
                let turns = (history.turn(of: bss.bssid), history.triedAt(bss.bssid) ?? .distantPast)
                return ((isFaint ? 2 : 0) + (isDeadEnd ? 1 : 0), turns.0, turns.1, 0, -headroom(of: bss), bss.bssid)
            }
            let isDoubted = history?.isDoubted(bss.bssid, at: now) ?? false
            let claims =
                16 * quality(of: bss).rawValue + (isDeadEnd ? 8 : 0)
                + (losses.isUnstable(bss.bssid, at: now, settings: settings) ? 4 : 0)
                + (isPlainHalf(bss, of: network, at: now) ? 2 : 0)
                + (history?.proven.contains(bss.bssid) ?? false ? 0 : 1)
            // Those that are doubted have their turns as well.
            let turn = isDoubted ? history?.triedAt(bss.bssid) ?? .distantPast : .distantPast
            return ((isFaint ? 2 : 0) + (isDoubted ? 1 : 0), turn, .distantPast, claims, -headroom(of: bss), bss.bssid)
        }
        return (open.isEmpty ? all : open).min { key($0) < key($1) }
    }

    /// Observations from before this say nothing about now.
    private func horizon(of network: NetworkID, at now: Instant, since earliest: Instant?) -> Instant {
        var start = now - settings.freshness
        if let earliest { start = max(start, earliest) }
        if let gone = histories[network]?.goneSince { start = max(start, gone + .milliseconds(1)) }
        return start
    }

    func isBlocked(_ network: NetworkID, at now: Instant) -> Bool { histories[network]?.isBlocked(at: now) ?? false }

    private func headroom(of bss: BSS) -> Int { settings.headroom(bss.signal, on: bss.frequency) }

    /// Each known network in range by its best access point, the best network first.
    func candidates(at now: Instant) -> [Candidate] {
        networks.enumerated().compactMap { order, network in
            observation(of: network.id, at: now).map { candidate($0, of: network, order: order, at: now) }
        }.sorted { $0.rank < $1.rank }
    }

    /// Every access point of a known network in range, the best first.
    func accessPoints(at now: Instant, since earliest: Instant? = nil) -> [Candidate] {
        networks.enumerated().flatMap { order, network in
            // If the network failed, its access points take turns, one at a time.
            let all =
                histories[network.id]?.block != nil
                ? [observation(of: network.id, at: now, since: earliest)].compactMap(\.self)
                : scanCache.accessPoints(of: network.id, since: horizon(of: network.id, at: now, since: earliest))
            return all.map { candidate($0, of: network, order: order, at: now) }
        }.sorted { $0.rank < $1.rank }
    }

    /// Whether nothing is held against joining an access point now.
    func isOpen(_ candidate: Candidate, at now: Instant) -> Bool {
        isOpen(candidate.bss, of: candidate.network.id, at: now)
    }

    func isOpen(_ bss: BSS, of network: NetworkID, at now: Instant) -> Bool {
        guard let history = histories[network] else { return true }
        return !history.isBlocked(at: now) && !history.isBlocked(bss.bssid, at: now)
            && history.pause(of: bss.bssid, after: now) == nil
    }

    /// The candidate of last resort, if all are blocked: of those that refuse no key and do not wait, the one that was
    /// tried longest ago. A block is for the good of the others, and there are none.
    func leftOver(at now: Instant) -> Candidate? {
        let seen = candidates(at: now).compactMap { candidate in
            histories[candidate.network.id].map { (candidate, history: $0, bssid: candidate.bss.bssid) }
        }
        // A candidate that only waits is there in a moment.
        let isOneWaiting = seen.contains { _, history, bssid in
            history.pause(of: bssid, after: now) != nil && !history.isBlocked(at: now)
                && !history.isBlocked(bssid, at: now)
        }
        guard !isOneWaiting else { return nil }
        return seen.filter { _, history, bssid in
            !history.isRefusing(bssid, at: now) && history.pause(of: bssid, after: now) == nil
        }.min { triedAt($0.0.network.id) < triedAt($1.0.network.id) }?.0
    }

    func candidate(_ bss: BSS, of network: KnownNetwork, order: Int, at now: Instant) -> Candidate {
        let rank = Rank(
            reputation: histories[network.id]?.reputation(of: bss.bssid, at: now) ?? .sound, quality: quality(of: bss),
            isUnstable: losses.isUnstable(bss.bssid, at: now, settings: settings),
            isPreferred: network.id == preferred, isPlainHalf: isPlainHalf(bss, of: network.id, at: now),
            isProven: histories[network.id]?.proven.contains(bss.bssid) ?? false, headroom: headroom(of: bss),
            order: order, bssid: bss.bssid)
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
    func considerations(choosing chosen: NetworkID?, at now: Instant) -> [PolicyDecision.Consideration] {
        let seen = candidates(at: now)
        let unseen = networks.filter { network in !seen.contains { $0.network.id == network.id } }
        return seen.map { consideration($0.network, $0.bss, chosen: chosen, at: now) }
            + unseen.map { consideration($0, nil, chosen: chosen, at: now) }
    }

    private func consideration(
        _ network: KnownNetwork, _ bss: BSS?, chosen: NetworkID?, at now: Instant
    ) -> PolicyDecision.Consideration {
        PolicyDecision.Consideration(
            ssid: network.ssid, bss: bss, verdict: verdict(on: network.id, bss, chosen: chosen, at: now))
    }

    private func verdict(
        on network: NetworkID, _ bss: BSS?, chosen: NetworkID?, at now: Instant
    ) -> PolicyDecision.Verdict {
        if network == chosen { return .chosen }
        if network == current { return .current }
        if let block = histories[network]?.block, block.isActive(at: now), let until = block.until {
            return .blocked(block.failure, until: until)
        }
        guard let bss else { return refusal(of: network, at: now).map { .refused($0.failure) } ?? .notSeen }
        if let uselessness = histories[network]?.uselessness, uselessness.isActive(at: now),
            let until = uselessness.until
        {
            return .unusable(uselessness.failure, until: until)
        }
        return objection(to: bss, of: network, at: now) ?? .outranked
    }

    /// Why an access point is not worth leaving the living link for, as far as signals go; nil if it is, or if there is
    /// none.
    func objection(to bss: BSS, of network: NetworkID, at now: Instant) -> PolicyDecision.Verdict? {
        guard case .online(let link) = phase, link.uselessness == nil, let gain = gain(of: bss, in: network) else {
            return nil
        }
        if scanCache.steadySignal(of: bss, in: network) < settings.thresholds(for: bss.frequency).minimumSignal {
            return .belowFloor
        }
        // Between a link that breaks and one that is good there is no dance.
        let isEscape = weakness.verdict >= .fading && quality(of: bss) == .good
        // Where frames are lost already, little is much, and staying that has cost as much as the move is reason enough.
        let isPaid = isLosingFrames && isMovePaid(from: link, to: network)
        let margin =
            isRoamInTime(to: network)
            ? roamMargin(against: bss.bssid, at: now)
            : isEscape || isPaid
                ? isLosingFrames ? settings.margin / 2 : settings.margin : margin(against: bss.bssid, at: now)
        return gain < margin ? .withinMargin(gain) : nil
    }

    /// Whether the link in use is so weak that frames are lost on it.
    var isLosingFrames: Bool {
        guard let accessPoint = phase.accessPoint, let level = weakness.judge.level else { return false }
        return level < settings.thresholds(for: accessPoint.frequency).minimumSignal
    }

    /// Whether it is near that: then a move does not wait until it is paid.
    var isSoonLosingFrames: Bool {
        guard let accessPoint = phase.accessPoint, let level = weakness.judge.level else { return false }
        return level < settings.thresholds(for: accessPoint.frequency).minimumSignal + Self.nearness
    }

    /// In dB.
    private static let nearness = 3

    /// Whether a move is one inside the network, which costs next to nothing, from a link that is about to lose frames.
    private func isRoamInTime(to network: NetworkID) -> Bool { network == current && isSoonLosingFrames }

    /// How much better an access point has to be for that, in dB: more where it was just left.
    private func roamMargin(against bssid: BSSID, at now: Instant) -> Int {
        roamDamping.wasLeft(bssid, at: now, settings: settings)
            ? max(settings.roamMargin, settings.margin / 2) : settings.roamMargin
    }

    /// How much better than the link in use an access point is, in dB.
    func gain(of bss: BSS, in network: NetworkID) -> Int? {
        guard let accessPoint = phase.accessPoint, let level = weakness.judge.level else { return nil }
        return gain(of: bss, in: network, over: level, on: accessPoint.frequency)
    }

    /// The same over a signal in dBm.
    func gain(of bss: BSS, in network: NetworkID, over level: Int, on frequency: Frequency?) -> Int {
        settings.headroom(scanCache.steadySignal(of: bss, in: network), on: bss.frequency)
            - settings.headroom(level, on: frequency)
    }

    /// How much better than the living link an access point has to be, in dB.
    func margin(against bssid: BSSID, at now: Instant) -> Int {
        settings.margin + roamDamping.damping(of: bssid, at: now, settings: settings)
    }
}

// Queries about a network, for callers.
extension FailoverPolicy {
    /// The access point that bears a network's name and is refused, where that is all that was seen of it lately.
    func refusal(of network: NetworkID, at now: Instant) -> ScanCache.Refusal? {
        guard scanCache.best(of: network, since: now - settings.freshness) == nil else { return nil }
        return scanCache.refusal(of: network, since: now - ScanCache.refusalMemory)
    }

    /// Why an access point is not joined that bears the name of a known network. Nil where it is one of a known
    /// network's, and where no known network has its name.
    public func refusal(of bss: BSS) -> JoinFailure? {
        guard !networks.contains(where: { $0.matches(bss) }) else { return nil }
        return networks.lazy.compactMap { $0.refusal(of: bss) }.first
    }

    /// Of which networks nothing was seen lately but an access point that is refused, and why it is.
    public func refusals(at now: Instant) -> [(network: KnownNetwork, bss: BSS, failure: JoinFailure)] {
        networks.compactMap { network in refusal(of: network.id, at: now).map { (network, $0.bss, $0.failure) } }
    }

    /// The newest observation of a network's strongest access point, however old; of one that its key has opened, where
    /// such was seen as lately.
    public func lastObservation(of network: NetworkID) -> BSS? {
        scanCache.latest(of: network, preferring: histories[network]?.proven ?? ProvenAccessPoints())
    }

    /// The channel on which an access point of a known network was last seen.
    public func frequency(of bssid: BSSID) -> Frequency? { scanCache.frequency(of: bssid) }

    /// The mobility domain that an access point of a known network announces; nil where it does no fast transition.
    public func mobility(of bssid: BSSID) -> MobilityDomain? { scanCache.mobility(of: bssid) }

    /// The losses of a network by hour of the day, to be kept over a restart; nil for none.
    public func hourlyOutage(of network: NetworkID, at now: Instant) -> StoredHourlyOutage? {
        histories[network]?.lostByHour.kept(on: hour(of: now).day)
    }

    /// The access points that have completed a handshake with a network's key, four at most, the latest first. Of a
    /// network that has no key there are none.
    public func verifiedAccessPoints(of network: NetworkID) -> [BSSID] { histories[network]?.proven.all ?? [] }

    /// Why the last attempt to use a network failed; nil once one succeeded.
    public func lastFailure(of network: NetworkID) -> JoinFailure? { histories[network]?.lastFailure }
}
