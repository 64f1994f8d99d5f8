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

/// Cost of staying on the link instead of being at each other access point, added up over time. A sum never falls below
/// 0, so that noise does not add up (CUSUM; Page, Continuous inspection schemes, 1954).
struct SwitchBenefit: Hashable, Sendable {
    private var sums: [BSSID: Double] = [:]
    private var countedUntil: Instant?
    /// Cost of the frames that the link has lost since it began to lose some.
    private(set) var lost = 0.0

    /// Nothing is known of more time than this between two samples.
    private static let longestSample = Duration.seconds(30)
    /// The cost before an access point was first seen counts up to this much for it.
    private static let mostBefore = 2.0

    subscript(bssid: BSSID) -> Double { sums[bssid] ?? 0 }

    /// Whether an access point would be better.
    var isPositive: Bool { sums.values.contains { $0 > 0 } }

    /// - Parameters:
    ///   - savings: cost saved in each second by being there. The sum of any other access point starts again.
    ///   - loss: share of frames that the link loses.
    mutating func count(_ savings: [BSSID: Double], loss: Double, at now: Instant) {
        let time = min(now - (countedUntil ?? now), Self.longestSample).seconds
        countedUntil = now
        let before = min(lost, Self.mostBefore)
        lost = loss > 0 ? lost + loss * time : 0
        sums = Dictionary(
            uniqueKeysWithValues: savings.map { bssid, saving in
                (bssid, max(0, (sums[bssid] ?? (saving > 0 ? before : 0)) + saving * time))
            })
    }
}

/// Measured joins of a network, and how long its links last.
///
/// The expected stay is a mean over the links so far. Earlier ends count less, and a prior of two hours fades with them.
struct SwitchStatistics: Hashable, Sendable {
    /// Time from the order to join until the link was usable; nil before the first join.
    private(set) var gap: Duration?
    /// Addresses in a row that did not come in time.
    private var lateAddresses = 0
    /// In seconds.
    private var endured = 3600.0
    private var ends = 0.5

    /// Weight of an earlier end at the next.
    private static let memory = 0.8
    /// Gap of a network that was never joined.
    static let usualGap = Duration.milliseconds(400)

    /// Longest wait for an address after a link was given up: four times the gap, and long enough for a DHCP client
    /// whose first question was lost (RFC 2131, 4.1: it asks again after 4 s). Doubles with each late address.
    /// - Parameter isLinkBad: whether the link given up was of little use. For a good one nothing doubles.
    func addressLimit(insteadOfBadLink isLinkBad: Bool) -> Duration? {
        gap.map { max(.seconds(5), $0 * 4) * (isLinkBad ? 1 << lateAddresses : 1) }
    }

    /// Time that an address always gets: twice what the join took. Where nothing else can be joined, `limit`, twice as
    /// long after each address that was late.
    func addressPatience(withoutOthers limit: Duration?) -> Duration {
        min(Self.mostPatience, max((gap ?? .zero) * 2, (limit ?? .zero) * (1 << lateAddresses)))
    }

    private static let mostPatience = Duration.seconds(120)

    mutating func addressWasLate() { lateAddresses = min(lateAddresses + 1, 4) }

    mutating func joined(after time: Duration) {
        let mean = gap.map { ($0 * 3 + time) / 4 } ?? time
        // The join that brings an address after late ones shows how long it takes.
        gap = lateAddresses > 0 ? max(mean, time) : mean
        lateAddresses = 0
    }

    /// - Parameters:
    ///   - time: how long the link lasted, or the network was seen.
    ///   - isEnd: whether the network ended it.
    mutating func lasted(_ time: Duration, isEnd: Bool) {
        if isEnd {
            endured *= Self.memory
            ends *= Self.memory
        }
        endured += max(0, time.seconds)
        ends += isEnd ? 1 : 0
    }

    /// Whether links end so often that another network is better.
    var isShortLived: Bool { expectedStay(seenFor: .zero) < Self.shortStay }

    /// In seconds.
    private static let shortStay = 600.0

    /// Expected duration of the next link, in seconds.
    /// - Parameter time: how long the network has been in range without a link.
    func expectedStay(seenFor time: Duration) -> Double { (endured + max(0, time.seconds)) / max(ends, 0.01) }
}

/// Moves away from living links, to limit how often they happen.
struct MoveLimits: Hashable, Sendable {
    private var departures: [Instant] = []
    private var roams: [Instant] = []
    private static let hourlyLimit = 14

    /// Whether the link may be left for another network, or for another access point of its own.
    /// - Parameter isClearlyGood: whether the target is far above weak. Other moves, among networks that are about as
    ///   weak as each other, are limited by the hour as well.
    func allow(roam isRoam: Bool, toClearlyGood isClearlyGood: Bool, at now: Instant, settings: PolicySettings) -> Bool {
        let moves = isRoam ? roams : departures
        let limit = isRoam ? settings.roamLimit : settings.switchLimit
        return moves.count { now - $0 <= settings.switchLimitWindow } < limit
            && (isClearlyGood || (roams + departures).count { now - $0 <= .seconds(3600) } < Self.hourlyLimit)
    }

    mutating func departs(isRoam: Bool, at now: Instant, settings: PolicySettings) {
        departures.removeAll { now - $0 > .seconds(3600) }
        roams.removeAll { now - $0 > .seconds(3600) }
        if isRoam { roams.append(now) } else { departures.append(now) }
    }
}

extension FailoverPolicy {
    /// Price of a roam within the network, which keeps address and connections.
    static let roamPrice = 0.2
    /// Price of a join to an access point that the network's key has not opened: a third of `unverifiedLimit`, because
    /// most access points with the name belong to the network.
    private static let unverifiedPrice = 2.0
    /// Longest expected way back to a network, in seconds. One slow join says little about the next.
    private static let longestWayBack = 2.0

    /// Price of a move to a network: the gap, and the connections that end. A join beside the link has no gap.
    func price(ofMoveTo network: NetworkID) -> Double {
        let gap = isJoinedBeside(network) ? .zero : histories[network]?.moves.gap ?? SwitchStatistics.usualGap
        return (gap + settings.movePrice).seconds
    }

    /// Price of losing a network some day, and of the move back to it.
    func price(ofLossBackTo network: NetworkID) -> Double {
        min(price(ofMoveTo: network), Self.longestWayBack) + settings.lossPrice.seconds
    }

    /// Price of the move from the link to an access point.
    func price(of candidate: Candidate, from link: Link) -> Double {
        guard candidate.network.id == link.network else {
            return price(ofMoveTo: candidate.network.id)
        }
        return isTroubled ? Self.roamPrice : candidate.rank.isProven ? 2 * Self.roamPrice : Self.unverifiedPrice
    }

    /// Cost of a second away from the preferred network.
    var awayRate: Double { 1 / max(1, settings.preferredWorth.seconds) }

    /// Adds up what it costs to stay, beside each other access point that was seen lately.
    mutating func countBenefit(of link: Link, at now: Instant) {
        guard link.uselessness == nil, let level = comparableLevel(of: link, at: now) else {
            return benefit.count([:], loss: 0, at: now)
        }
        let here = cost(at: level, on: link.accessPoint.frequency, link.network, loss: monitor.loss)
        var savings: [BSSID: Double] = [:]
        for network in networks where isTroubled || network.id == link.network {
            for bss in scanCache.accessPoints(of: network.id, since: now - settings.weakScan.last)
            where bss.bssid != link.accessPoint.bssid {
                savings[bss.bssid] =
                    here - cost(of: bss, in: network.id, from: link) + risk(beside: bss, in: network.id, at: now)
            }
        }
        let weak = LinkCost.lossRate(at: level, on: link.accessPoint.frequency, settings: settings)
        benefit.count(savings, loss: min(1, weak + (monitor.isLossHeavy ? monitor.loss : 0)), at: now)
    }

    /// Cost of a second on a weak link because it may break, beside an access point that is stronger by the margin. Only
    /// a new observation counts, so that one that was stronger by chance does not add up.
    private func risk(beside bss: BSS, in network: NetworkID, at now: Instant) -> Double {
        guard monitor.weakSince != nil else { return 0 }
        guard objection(to: bss, of: network, at: now) == nil else { return -LinkCost.weak }
        return now - bss.lastSeen <= Self.newness ? LinkCost.weak : 0
    }

    private static let newness = Duration.seconds(30)

    /// Cost of a second at an access point, as it was seen last. What drowns the link's channel drowns those near it.
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
    func comparableLevel(of link: Link, at now: Instant) -> Int? {
        guard !isTroubled else { return monitor.level }
        return scanCache.accessPoints(of: link.network, since: now - settings.weakScan.last)
            .first { $0.bssid == link.accessPoint.bssid }
            .map { scanCache.steadySignal(of: $0, in: link.network) } ?? monitor.level
    }
}
