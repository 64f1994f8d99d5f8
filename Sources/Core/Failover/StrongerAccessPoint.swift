import AgentModel

/// Another access point of the network that would carry more, while the link is fine: a device that went to a farther one when the near one
/// had no power goes back.
struct StrongerAccessPoint: Sendable, Hashable {
    /// When the network's channels are scanned next; nil before the first time.
    var nextScan: Instant?
    private var scans = 0
    /// Of not being there.
    private(set) var regret = Regret()

    /// Above this signal, in dBm, more carries no more (IEEE 802.11-2020, table 19-23).
    static let best = -64
    /// Observations of scans count for so long.
    static let memory = Duration.seconds(90)
    static let firstScan = Duration.seconds(30)
    /// The price of trying one that the network's key has not opened, in seconds of outage. Most access points of the name belong to the
    /// network, so the device reckons with a third of the limit.
    static let unprovenPrice = 2.0
    private static let interval = Duration.seconds(60)
    /// After so many scans that came to nothing they are made less often.
    private static let patience = 10
    private static let patientInterval = Duration.seconds(300)

    mutating func scanned(at now: Instant) {
        nextScan = now + (scans < Self.patience || regret.seconds > 0 ? Self.interval : Self.patientInterval)
        scans += 1
    }

    /// - Parameter saving: by the second, of going there; nil where no other is better.
    mutating func count(_ saving: Double?, at now: Instant) {
        regret.add(saving, for: regret.elapse(to: now, atMost: Self.memory))
    }
}

extension FailoverPolicy {
    /// When the channels of the network are scanned; nil where there is no reason to.
    func strongerScan(_ link: Link) -> Instant? {
        guard !carriesAll, hasOthers(than: link) else { return nil }
        return weakness.stronger.nextScan ?? link.since + StrongerAccessPoint.firstScan
    }

    /// Whether no access point could carry more than the link does, as far as its signal is known.
    var carriesAll: Bool { weakness.judge.level.map { $0 >= StrongerAccessPoint.best } ?? true }

    /// Whether the network of a link has other access points or channels.
    func hasOthers(than link: Link) -> Bool {
        scanCache.places(of: link.network).count > 1
            || scanCache.accessPoints(of: link.network, since: .distantPast)
                .contains { $0.bssid != link.accessPoint.bssid }
    }

    mutating func scanForStronger(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        guard canScan, let moment = strongerScan(link), moment <= now else { return }
        let places = scanCache.places(of: link.network)
        weakness.stronger.scanned(at: now)
        if budget.canSpare(places, at: now) { orderScan(places, reason: .weak, at: now, &actions) }
    }

    /// The access point of the network for which a link is left that is fine: once to stay has cost twice what the roam does, and more
    /// where the network's key has not opened it.
    mutating func strongerAccessPoint(than link: Link, at now: Instant) -> Candidate? {
        guard link.uselessness == nil, let own = ownSignal(link, at: now) else { return nil }
        let others = scanCache.accessPoints(of: link.network, since: now - StrongerAccessPoint.memory)
            .filter {
                $0.bssid != link.accessPoint.bssid
                    && gain(of: $0, in: link.network, over: own, on: link.accessPoint.frequency) >= settings.margin
            }
        let here = LinkPrice.rate(at: own, on: link.accessPoint.frequency, settings: settings)
        let best = others.map {
            LinkPrice.rate(
                at: scanCache.steadySignal(of: $0, in: link.network), on: $0.frequency, settings: settings)
        }.min()
        weakness.stronger.count(own < StrongerAccessPoint.best ? best.map { here - $0 } : nil, at: now)
        guard weakness.stronger.regret.seconds >= 2 * Self.roamPrice, now - link.since >= settings.betweenSwitches,
            roamDamping.allowsRoam(at: now, settings: settings)
        else { return nil }
        return accessPoints(at: now).first { candidate in
            candidate.network.id == link.network && candidate.bss.bssid != link.accessPoint.bssid
                && isOpen(candidate, at: now) && candidate.rank.reputation == .sound
                && candidate.rank.quality == .good && !candidate.rank.isUnstable
                && (candidate.rank.isProven || weakness.stronger.regret.seconds >= StrongerAccessPoint.unprovenPrice)
                && gain(of: candidate.bss, in: link.network, over: own, on: link.accessPoint.frequency)
                    >= margin(against: candidate.bss.bssid, at: now)
        }
    }

    /// In dBm: as the last scan has shown it, beside the others, or as it was measured.
    private func ownSignal(_ link: Link, at now: Instant) -> Int? {
        scanCache.accessPoints(of: link.network, since: now - StrongerAccessPoint.memory)
            .first { $0.bssid == link.accessPoint.bssid }
            .map { scanCache.steadySignal(of: $0, in: link.network) } ?? weakness.judge.level
    }
}
