import AgentModel

/// Cost of a link by its signal. The unit of all costs is a second of outage.
enum LinkCost {
    /// Utility of 20 MHz and one stream, log2(1 + rate) / log2(66), by the least signal in dBm (IEEE 802.11-2020,
    /// tables 19-23 and 19-27).
    private static let utilities: [(signal: Int, utility: Double)] = [
        (best, 1), (-65, 0.975), (-66, 0.948), (-70, 0.880), (-74, 0.787), (-77, 0.721), (-79, 0.630),
    ]
    private static let leastUtility = 0.481
    /// A stronger signal than this carries no more, in dBm.
    static let best = -64
    /// Cost of a second on a link without utility.
    private static let weight = 0.02
    /// Frames get lost below this many dB above `minimumSignal`.
    private static let onset = 2
    /// Value of a second on a link that is stronger than a weak one by the margin, because a weak one may break.
    static let weak = 0.02
    /// All frames are lost this many dB below the onset. Assumed.
    private static let fall = 12.0

    /// Cost of a second at a signal in dBm.
    static func rate(at signal: Int, on frequency: Frequency?, settings: PolicySettings) -> Double {
        let utility = utilities.first { signal >= $0.signal }?.utility ?? leastUtility
        return lossRate(at: signal, on: frequency, settings: settings) + weight * (1 - utility)
    }

    /// Share of frames that a link at a signal in dBm loses, 0 to 1.
    static func lossRate(at signal: Int, on frequency: Frequency?, settings: PolicySettings) -> Double {
        min(1, max(0, Double(settings.thresholds(for: frequency).minimumSignal + onset - signal) / fall))
    }
}

extension FailoverPolicy {
    /// Price of a roam within the network, which keeps address and connections.
    static let roamPrice = 0.2
    /// Price of a join to an access point that the network's key has not opened: a third of `unverifiedLimit`, because
    /// most access points with the name belong to the network.
    private static let unverifiedPrice = 2.0

    /// Time for which observations count, longer than the longest wait between two scans.
    private static let benefitMemory = Duration.seconds(320)

    /// Price of a move to a network: the gap, and the connections that end. A join beside the link has no gap.
    func price(ofMoveTo network: NetworkID) -> Double {
        let gap = isJoinedBeside(network) ? .zero : history(of: network).moves.gap ?? SwitchStatistics.usualGap
        return (gap + settings.movePrice).seconds
    }

    /// Price of the move from the link to an access point.
    func price(of candidate: Candidate, from link: Link) -> Double {
        guard candidate.network.id == link.network else { return price(ofMoveTo: candidate.network.id) }
        return isTroubled
            ? Self.roamPrice
            : isUnverified(candidate.bss.bssid, of: link.network)
                ? Self.unverifiedPrice : 2 * Self.roamPrice
    }

    /// Cost of a second away from the preferred network.
    var awayRate: Double { 1 / max(1, settings.preferredWorth.seconds) }

    /// Adds up the cost of staying instead of using each other access point seen lately.
    mutating func countBenefit(of link: Link) {
        guard link.uselessness == nil, let level = comparableLevel(of: link) else {
            return benefit.count([:], loss: 0, at: now)
        }
        let here = cost(at: level, on: link.accessPoint.frequency, link.network, loss: monitor.loss)
        var savings: [BSSID: Double] = [:]
        for network in networks where isTroubled || network.id == link.network {
            for bss in scanCache.accessPoints(of: network.id, since: now - Self.benefitMemory)
            where bss.bssid != link.accessPoint.bssid {
                savings[bss.bssid] =
                    here - cost(of: bss, in: network.id, from: link) + risk(beside: bss, in: network.id)
            }
        }
        let weak = LinkCost.lossRate(at: level, on: link.accessPoint.frequency, settings: settings)
        benefit.count(savings, loss: min(1, weak + (monitor.isLossHeavy ? monitor.loss : 0)), at: now)
    }

    /// Cost of a second on a weak link because it may break, beside an access point that is stronger by the margin.
    /// Only a new observation counts, so that one that was stronger by chance does not add up.
    private func risk(beside bss: BSS, in network: NetworkID) -> Double {
        guard monitor.weakSince != nil else { return 0 }
        guard objection(to: bss, of: network) == nil else { return -LinkCost.weak }
        return now - bss.lastSeen <= Self.newness ? LinkCost.weak : 0
    }

    private static let newness = Duration.seconds(30)

    /// Cost of a second at an access point, as it was seen last. Interference on the link's channel also counts on
    /// the channels that overlap it.
    func cost(of bss: BSS, in network: NetworkID, from link: Link) -> Double {
        let sharesLoss = link.accessPoint.frequency.map { CongestedChannels.overlap($0, bss.frequency) } ?? false
        return cost(
            at: scanCache.steadySignal(of: bss, in: network), on: bss.frequency, network,
            loss: sharesLoss ? monitor.loss : 0)
    }

    /// Cost of a second at a signal in dBm with a share of lost frames.
    func cost(at signal: Int, on frequency: Frequency?, _ network: NetworkID, loss: Double) -> Double {
        min(1, LinkCost.rate(at: signal, on: frequency, settings: settings) + loss)
            + (network == preferred ? 0 : awayRate)
    }

    /// The link's signal in dBm. While the link is fine, from the scan that also showed the others, if there was one.
    func comparableLevel(of link: Link) -> Int? {
        guard !isTroubled else { return monitor.level }
        return scanCache.accessPoints(of: link.network, since: now - Self.benefitMemory)
            .first { $0.bssid == link.accessPoint.bssid }
            .map { scanCache.steadySignal(of: $0, in: link.network) } ?? monitor.level
    }
}
