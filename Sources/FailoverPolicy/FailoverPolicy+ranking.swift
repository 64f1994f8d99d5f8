import AgentModel

/// A known network in range, as the ranking sees it.
struct Candidate: Hashable {
    let network: KnownNetwork
    let bss: BSS
    let rank: Rank
}

/// Ranks are compared part by part, the first difference decides: no amount of signal makes up for an earlier part.
struct Rank: Hashable, Comparable {
    /// It failed before: only if nothing else is there.
    let isSuspect: Bool
    let quality: Quality
    /// Among networks of one quality the home network comes first.
    let isPreferred: Bool
    /// dBm.
    let signal: Int
    let order: Int

    enum Quality: Int, Comparable {
        case good, usable, faint

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether `left` is to be preferred.
    static func < (left: Self, right: Self) -> Bool { left.key < right.key }

    private var key: (Int, Int, Int, Int, Int) {
        (isSuspect ? 1 : 0, quality.rawValue, isPreferred ? 0 : 1, -signal, order)
    }
}

extension FailoverPolicy {
    /// The strongest access point of a network, if it was seen just now and not only before it got lost.
    ///
    /// - Parameter earliest: older sights do not count either.
    func sight(of network: NetworkID, at now: Instant, since earliest: Instant? = nil) -> BSS? {
        let limits = [now - settings.freshness, earliest, goneSince[network].map { $0 + .milliseconds(1) }]
        return air.best(of: network, since: limits.compactMap(\.self).max() ?? now)
    }

    func isBlocked(_ network: NetworkID, at now: Instant) -> Bool { blocks[network]?.isActive(at: now) ?? false }

    /// The known networks in range, best first.
    func candidates(at now: Instant, since earliest: Instant? = nil) -> [Candidate] {
        networks.enumerated().compactMap { order, network in
            guard let bss = sight(of: network.id, at: now, since: earliest) else { return nil }
            let rank = Rank(
                isSuspect: blocks[network.id] != nil, quality: quality(of: bss), isPreferred: network.isPreferred,
                signal: bss.signal, order: order)
            return Candidate(network: network, bss: bss, rank: rank)
        }.sorted { $0.rank < $1.rank }
    }

    private func quality(of bss: BSS) -> Rank.Quality {
        let thresholds = settings.thresholds(for: bss.frequency)
        return bss.signal >= thresholds.weak ? .good : bss.signal >= thresholds.floor ? .usable : .faint
    }

    /// What is held for or against each known network, for the history.
    func considerations(choosing chosen: NetworkID?, at now: Instant) -> [PolicyDecision.Consideration] {
        let seen = candidates(at: now)
        let unseen = networks.filter { network in !seen.contains { $0.network.id == network.id } }
        return seen.map { consideration($0.network, $0.bss, chosen: chosen, at: now) }
            + unseen.map { consideration($0, nil, chosen: chosen, at: now) }
    }

    private func consideration(
        _ network: KnownNetwork, _ bss: BSS?, chosen: NetworkID?, at now: Instant
    ) -> PolicyDecision.Consideration {
        let verdict: PolicyDecision.Verdict =
            if network.id == chosen {
                .chosen
            } else if network.id == current {
                .current
            } else if let block = blocks[network.id], block.isActive(at: now), let until = block.until {
                .blocked(block.failure, until: until)
            } else if let bss {
                objection(to: bss) ?? .outranked
            } else {
                .notSeen
            }
        return PolicyDecision.Consideration(ssid: network.ssid, bss: bss, verdict: verdict)
    }

    /// Why an access point is not worth leaving the living link for; nil if it is, or if there is none.
    func objection(to bss: BSS) -> PolicyDecision.Verdict? {
        guard case .online = phase, let signal = weakness.judge.latest else { return nil }
        if bss.signal < settings.thresholds(for: bss.frequency).floor { return .belowFloor }
        let gain = bss.signal - signal
        return gain < settings.margin ? .withinMargin(gain) : nil
    }
}

// What the policy knows of a network, for whoever asks.
extension FailoverPolicy {
    /// The newest sight of a network's strongest access point, however old.
    public func lastSight(of network: NetworkID) -> BSS? { air.latest(of: network) }

    /// The channel on which an access point of a known network was last seen.
    public func frequency(of bssid: BSSID) -> Frequency? { air.frequency(of: bssid) }

    /// Why the last attempt to join a network failed; nil once one succeeded.
    public func lastFailure(of network: NetworkID) -> JoinFailure? { blocks[network]?.failure }
}
