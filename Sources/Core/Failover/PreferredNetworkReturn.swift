import AgentModel

/// The way back to the preferred network.
struct PreferredNetworkReturn: Hashable, Sendable {
    private(set) var nextScan: Instant?
    /// Since when it is scanned for, and when that was done on all channels.
    private var since: Instant?
    private var lastFullScan: Instant?
    /// Since when every scan found it good.
    private(set) var goodSince: Instant?
    private var goodScans = 0
    private var misses = 0
    /// Returns that did not last, in a row.
    private var failures = 0
    /// What a return that failed makes the next one wait at the least.
    private var dearness = Duration.zero
    /// The same for one that was left because its channel was jammed; kept until a return has lasted.
    private var jamWait = Duration.zero

    private static let scansNeeded = 3

    mutating func scanAgain(at moment: Instant) {
        nextScan = moment
        since = moment
        lastFullScan = nil
        goodSince = nil
        goodScans = 0
    }

    /// A router may come back on another channel, so now and then a scan covers all of them.
    func isFullScanDue(at now: Instant) -> Bool {
        (lastFullScan ?? since).map { now - $0 >= Self.fullScanInterval } ?? false
    }

    private static let fullScanInterval = Duration.seconds(20 * 60)

    /// There is no air time for a scan now.
    mutating func wait(until moment: Instant) { nextScan = moment }

    mutating func ordered(everywhere: Bool, at now: Instant, settings: PolicySettings) {
        if everywhere { lastFullScan = now }
        let elapsed = since.map { now - $0 } ?? .zero
        nextScan =
            now + (goodSince == nil ? settings.preferredScan.wait(after: elapsed, part: 60) : scanInterval(settings))
    }

    /// While it is good it is scanned twice as often as it has to be, but at most every ten seconds; and every minute at least, so that it is
    /// seen to go: a restart may mend it.
    private func scanInterval(_ settings: PolicySettings) -> Duration {
        let confirmation = confirmation(settings)
        let shortest = max(.seconds(1), min(.seconds(10), confirmation / (Self.scansNeeded - 1)))
        return min(max(shortest, confirmation / (2 * Self.scansNeeded)), Self.longestInterval)
    }

    private static let longestInterval = Duration.seconds(60)

    private func confirmation(_ settings: PolicySettings) -> Duration {
        max(settings.preferredConfirmation.wait(after: failures), dearness)
    }

    /// - Parameter quality: what was found, or nil if it was not there.
    mutating func scanned(found quality: Quality?, at now: Instant, settings: PolicySettings) {
        switch quality {
        case .good:
            goodSince = goodSince ?? now
            goodScans += 1
            misses = 0
            // The last one when the time is over, and not later.
            let end = (goodSince ?? now) + confirmation(settings)
            nextScan = end > now ? min(end, now + scanInterval(settings)) : now + scanInterval(settings)
        case .poor, nil:
            // One scan does not always show what is there: where it was good, the next one follows at once.
            misses += 1
            guard misses > 1 || quality == .poor else {
                if goodSince != nil { nextScan = now + .seconds(1) }
                return
            }
            goodSince = nil
            goodScans = 0
        }
    }

    enum Quality { case good, poor }

    func isConfirmed(at now: Instant, settings: PolicySettings) -> Bool {
        guard let goodSince, goodScans >= Self.scansNeeded else { return false }
        return now - goodSince >= confirmation(settings)
    }

    mutating func hasReturned(at now: Instant) {
        nextScan = nil
        goodSince = nil
        goodScans = 0
        since = nil
        lastFullScan = nil
        dearness = .zero
    }

    /// The device gave a link up for it, and it was not to be had: that must not happen often.
    ///
    /// - Parameters:
    ///   - wait: for which being away costs half as much as that has cost. It is waited for before the next try, and twice as long
    ///     after every further failure (the rent-or-buy rule; Karlin et al., Competitive snoopy caching, 1988).
    ///   - isRefusal: it refuses the device's credentials, which time does not mend: four times as long.
    mutating func returnFailed(
        paidOffAfter wait: Duration, isRefusal: Bool, at now: Instant, settings: PolicySettings
    ) {
        failures += 3
        let factor = isRefusal ? 4 : 2
        dearness = min(settings.preferredConfirmation.last * (2 * factor), max(wait, dearness * factor))
        scanAgain(at: now)
    }

    /// It has refused the device's credentials, and no link was given up for it: the next time one would be.
    mutating func refused(paidOffAfter wait: Duration) { dearness = max(dearness, wait) }

    /// It was left because of what else is on its channel, which nothing tells the end of.
    mutating func leftJammed(at now: Instant, settings: PolicySettings) {
        jamWait = min(settings.preferredConfirmation.last, max(settings.noInternetBlock.first, jamWait * 2))
        dearness = max(dearness, jamWait)
        scanAgain(at: now + settings.preferredScan.first)
    }

    /// The device had returned, and the link has ended after this time.
    mutating func left(after time: Duration, settings: PolicySettings) {
        if time < settings.preferredProbation {
            failures += 2
        } else if time >= settings.preferredProbation * 4 {
            failures = 0
            jamWait = .zero
        }
    }
}

// Decisions that bring the device back to its preferred network.
extension FailoverPolicy {
    /// The network to return to, sooner or later.
    func preferredNetwork(from link: Link) -> NetworkID? {
        guard settings.returnsToPreferred, let preferred, preferred != link.network, otherUplink == nil, command == nil,
            !scanCache.places(of: preferred).isEmpty,
            // The network in use under another password: whether that is right shows when the link is gone.
            ssid(preferred) != ssid(link.network)
        else { return nil }
        return preferred
    }

    /// Returns to the preferred network, or scans for it.
    /// - Returns: whether the device leaves.
    mutating func returnToPreferred(from link: Link, at now: Instant, _ actions: inout [PolicyAction]) -> Bool {
        guard let preferred = preferredNetwork(from: link), !isBlocked(preferred, at: now),
            (histories[preferred]?.reputation(at: now) ?? .sound) <= .suspect
        else { return false }
        if preferredReturn.isConfirmed(at: now, settings: settings), now - link.since >= settings.betweenSwitches,
            let bss = observation(of: preferred, at: now), isGood(bss), isWelcome(bss, of: preferred, at: now),
            let costs = costs(ofReturnTo: preferred, at: bss, from: link, at: now), costs.staying >= costs.price
        {
            join(preferred, at: bss, purpose: .automatic, cause: .preferred, costs: costs, at: now, &actions)
            return true
        }
        let isEverywhere = preferredReturn.isFullScanDue(at: now)
        let places = isEverywhere ? [] : scanCache.places(of: preferred)
        if let nextScan = preferredReturn.nextScan, nextScan <= now, canScan {
            if orderScan(places, reason: .preferred, at: now, &actions) {
                preferredReturn.ordered(everywhere: isEverywhere, at: now, settings: settings)
            } else {
                preferredReturn.wait(until: now + budget.wait(for: places, isUrgent: isScanUrgent))
            }
        }
        return false
    }

    /// Returns the cost of staying away for an expected stay, and the price of the return: the way there, and its loss
    /// some day with the way back.
    private func costs(
        ofReturnTo preferred: NetworkID, at bss: BSS, from link: Link, at now: Instant
    ) -> PolicyDecision.Costs? {
        guard let goodSince = preferredReturn.goodSince else { return nil }
        let stay = (histories[preferred]?.moves ?? SwitchStatistics()).expectedStay(seenFor: now - goodSince)
        let level =
            monitor.level ?? settings.thresholds(for: link.accessPoint.frequency).weak + settings.returnHeadroom
        let here = cost(at: level, on: link.accessPoint.frequency, link.network, loss: 0)
        return PolicyDecision.Costs(
            here: here, there: cost(of: bss, in: preferred, from: link), staying: here * stay,
            price: price(ofMoveTo: preferred) + price(ofLossBackTo: link.network))
    }

    /// The device gave a link up for its preferred network, and that was not to be had.
    mutating func returnFailed(_ attempt: Attempt, _ failure: JoinFailure, at now: Instant) {
        preferredReturn.returnFailed(
            paidOffAfter: wait(payingOff: attempt.leavesALivingLink ? attempt : nil, at: now),
            isRefusal: failure.isOfTheCredential, at: now, settings: settings)
    }

    /// The preferred network has refused the device, which had no link to lose.
    mutating func returnRefused(_ attempt: Attempt, at now: Instant) {
        preferredReturn.refused(paidOffAfter: wait(payingOff: attempt, at: now))
    }

    /// For how long being away costs half as much as a move that comes to nothing, and takes as long as this attempt.
    private func wait(payingOff attempt: Attempt?, at now: Instant) -> Duration {
        let lost = attempt.map { now - ($0.began ?? now) } ?? .zero
        let cost = (lost + settings.lossPrice + settings.movePrice).seconds
        return .milliseconds(Int64(min(cost / awayRate, 1e6) * 500))
    }

    func quality(ofPreferred network: KnownNetwork, since start: Instant) -> PreferredNetworkReturn.Quality? {
        let now = latest ?? start
        let all = scanCache.accessPoints(of: network.id, since: start)
        guard !all.isEmpty else { return nil }
        return all.contains { isGood($0) && isWelcome($0, of: network.id, at: now) } ? .good : .poor
    }

    /// Whether a living link may be given up for an access point: no doubted unproven one.
    private func isWelcome(_ bss: BSS, of network: NetworkID, at now: Instant) -> Bool {
        !(histories[network]?.isDoubted(bss.bssid, at: now) ?? false)
    }

    /// Good with something to spare: a network at the threshold would be left again.
    private func isGood(_ bss: BSS) -> Bool {
        settings.headroom(bss.signal, on: bss.frequency) >= settings.returnHeadroom
    }
}
