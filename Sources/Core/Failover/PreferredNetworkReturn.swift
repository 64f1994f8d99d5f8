import AgentModel

/// State of the return to the preferred network.
struct PreferredNetworkReturn: Hashable, Sendable {
    /// Start of the time in which scans found it good.
    private(set) var goodSince: Instant?
    private var goodScans = 0
    private var misses = 0
    /// Minimum time for which it has to be good, because of failed returns.
    private var wait = Duration.zero

    private static let scansNeeded = 3
    private static let longestWait = Duration.seconds(4 * 3600)
    /// Age from which the end of a link to it does not count as a failure.
    private static let lasting = Duration.seconds(3600)

    private func confirmation(_ settings: PolicySettings) -> Duration { max(settings.preferredConfirmation, wait) }

    /// Delays the next return after a failed join, or after the end of a link to it.
    /// - Parameters:
    ///   - wait: time in which being away costs half as much as the failure. The next return waits for it, and twice as
    ///     long after every further failure (the rent-or-buy rule; Karlin et al., Competitive snoopy caching, 1988).
    ///   - time: how long the link lasted.
    ///   - isRepeated: whether an earlier failure doubles the wait.
    mutating func failed(paidOffAfter wait: Duration, lasted time: Duration = .zero, isRepeated: Bool = true) {
        self.wait =
            time >= Self.lasting ? .zero : min(Self.longestWait, max(wait, self.wait * (isRepeated ? 2 : 1)))
    }

    /// Returns the time until the next scan.
    /// - Parameter elapsed: time since the first scan.
    func wait(after elapsed: Duration, settings: PolicySettings) -> Duration {
        goodSince == nil ? settings.preferredScan.wait(after: elapsed, part: 60) : scanInterval(settings)
    }

    /// Interval of scans while it is good, 1 to 60 s: 10 s, or a sixth of the confirmation if that is longer.
    private func scanInterval(_ settings: PolicySettings) -> Duration {
        let confirmation = confirmation(settings)
        let shortest = max(.seconds(1), min(.seconds(10), confirmation / (Self.scansNeeded - 1)))
        return max(shortest, min(.seconds(60), confirmation / (2 * Self.scansNeeded)))
    }

    /// - Parameter isGood: whether a good access point was found; nil if none was.
    /// - Returns: time of the next scan; nil to leave it as it is.
    mutating func scanned(found isGood: Bool?, at now: Instant, settings: PolicySettings) -> Instant? {
        if isGood == true {
            goodSince = goodSince ?? now
            goodScans += 1
            misses = 0
            // The last scan comes when the time is over, and not later.
            let end = (goodSince ?? now) + confirmation(settings)
            return end > now ? min(end, now + scanInterval(settings)) : now + scanInterval(settings)
        }
        // One scan may miss a network: where it was good, the next one follows after 1 s.
        misses += 1
        guard misses > 1 || isGood == false else { return goodSince.map { _ in now + .seconds(1) } }
        (goodSince, goodScans) = (nil, 0)
        return nil
    }

    func isConfirmed(at now: Instant, settings: PolicySettings) -> Bool {
        guard let goodSince, goodScans >= Self.scansNeeded else { return false }
        return now - goodSince >= confirmation(settings)
    }

    /// Forgets the scans that found it.
    mutating func startOver() { (goodSince, goodScans, misses) = (nil, 0, 0) }
}

// Decisions that bring the device back to its preferred network.
extension FailoverPolicy {
    /// The network to return to, sooner or later.
    func preferredNetwork(from link: Link) -> NetworkID? {
        guard settings.returnsToPreferred, let preferred, preferred != link.network, otherUplink == nil, command == nil,
            !scanCache.places(of: preferred).isEmpty,
            // The network in use under another password is tried only when the link is gone.
            ssid(preferred) != ssid(link.network)
        else { return nil }
        return preferred
    }

    /// Returns to the preferred network, or scans for it.
    /// - Returns: whether the device leaves.
    mutating func returnToPreferred(from link: Link) -> Bool {
        guard let preferred = preferredNetwork(from: link), !isBlocked(preferred, at: now),
            history(of: preferred).reputation(at: now) <= .suspect
        else { return false }
        if preferredReturn.isConfirmed(at: now, settings: settings), now - link.since >= settings.betweenSwitches,
            let bss = observation(of: preferred), isGood(bss, of: preferred),
            let costs = costs(ofReturnTo: preferred, at: bss, from: link), costs.staying >= costs.price
        {
            join(preferred, at: bss, purpose: .automatic, cause: .preferred, costs: costs)
            return true
        }
        if scans.isDue(.preferred, at: now) {
            let (since, lastFull) = (scans[.preferred].since, scans[.preferred].lastFull)
            // A router may come back on another channel, so now and then a scan covers all of them.
            let isEverywhere = (lastFull ?? since).map { now - $0 >= Self.fullScanInterval } ?? false
            orderScan(
                isEverywhere ? [] : scanCache.places(of: preferred), for: .preferred, as: .preferred,
                then: preferredReturn.wait(after: since.map { now - $0 } ?? .zero, settings: settings))
        }
        return false
    }

    private static let fullScanInterval = Duration.seconds(20 * 60)

    /// Scans for the preferred network again from a moment on; nil for no scans.
    mutating func scanForPreferred(at moment: Instant?) {
        preferredReturn.startOver()
        scans[.preferred] = ScanPlanner.Entry(since: moment, due: moment)
    }

    /// Returns the cost of staying away for an expected stay, and the price of the return: the move and a later loss.
    private func costs(ofReturnTo preferred: NetworkID, at bss: BSS, from link: Link) -> PolicyDecision.Costs? {
        guard let goodSince = preferredReturn.goodSince else { return nil }
        let stay = history(of: preferred).moves.expectedStay(seenFor: now - goodSince)
        let level =
            monitor.level ?? settings.thresholds(for: link.accessPoint.frequency).weak + settings.returnHeadroom
        let here = cost(at: level, on: link.accessPoint.frequency, link.network, loss: 0)
        return PolicyDecision.Costs(
            here: here, there: cost(of: bss, in: preferred, from: link), staying: here * stay,
            price: price(ofMoveTo: preferred) + settings.lossPrice.seconds)
    }

    /// Notes a failed return to the preferred network, or that it refused the device.
    mutating func returnFailed(_ attempt: Attempt, isRepeated: Bool = true) {
        let lost = attempt.leavesALivingLink || !isRepeated ? now - (attempt.began ?? now) : .zero
        preferredReturn.failed(paidOffAfter: wait(payingOff: lost), isRepeated: isRepeated)
        if isRepeated { scanForPreferred(at: now) }
    }

    /// Returns the time in which being away costs half as much as a move in vain and an outage of this time.
    func wait(payingOff outage: Duration) -> Duration {
        let cost = (outage + settings.lossPrice + settings.movePrice).seconds
        return .milliseconds(Int64(min(cost / awayRate, 1e6) * 500))
    }

    /// Whether a preferred network that was seen is good enough to return to; nil if it was not seen.
    func isGood(_ network: KnownNetwork, since start: Instant) -> Bool? {
        let all = scanCache.accessPoints(of: network.id, since: start)
        return all.isEmpty ? nil : all.contains { isGood($0, of: network.id) }
    }

    /// Whether an access point is not distrusted and well above weak: at the threshold it would be left again.
    private func isGood(_ bss: BSS, of network: NetworkID) -> Bool {
        settings.headroom(bss.signal, on: bss.frequency) >= settings.returnHeadroom
            && !history(of: network).isDistrusted(bss.bssid, at: now)
    }
}
