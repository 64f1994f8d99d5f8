import AgentModel

// Decisions while a link is in use.
extension FailoverPolicy {
    /// Credible signals in dBm. Other values from a driver are ignored.
    private static let credibleSignals = -150...50

    mutating func measured(_ signal: Int) {
        guard case .online(let link) = phase, Self.credibleSignals.contains(signal) else { return }
        monitor.add(
            signal, at: now, thresholds: settings.thresholds(for: link.accessPoint.frequency),
            recovery: settings.recovery)
        countBenefit(of: link)
        proceed()
    }

    mutating func lost(_ percent: Int) {
        guard case .online(let link) = phase else { return }
        monitor.lost(percent, at: now)
        countBenefit(of: link)
        proceed()
    }

    /// Forgets measurements of another link, or old ones.
    mutating func watchAnew() {
        (monitor, benefit, scans[.escape]) = (LinkMonitor(), SwitchBenefit(), ScanPlanner.Entry())
        (departureNotice, neighbours) = (nil, [])
    }

    // MARK: The link's state

    /// Whether the link is weak or loses frames.
    var isTroubled: Bool { monitor.weakSince != nil || monitor.loss > 0 }

    /// Whether more frames get lost than the signal explains.
    var isCongested: Bool { monitor.loss > 0 && monitor.weakSince == nil }

    /// Whether the signal is so weak that frames get lost.
    var isLosingFrames: Bool {
        guard monitor.weakSince != nil, let accessPoint = phase.accessPoint, let level = monitor.level else {
            return false
        }
        return LinkCost.lossRate(at: level, on: accessPoint.frequency, settings: settings) > 0
    }

    /// Whether the signal will not last.
    var isBreaking: Bool { monitor.isFading || isLosingFrames }

    /// Whether there is a reason to scan for something better.
    func isBad(_ link: Link) -> Bool { isTroubled || link.uselessness != nil }

    /// Leaves a link for a better one, and scans so that better ones are known.
    mutating func reconsider(_ link: Link) {
        watch(link)
        // Without wpa_supplicant nothing can be joined. One move at a time.
        guard otherUplink == nil, isReady, !isMoving else { return }
        if followNotice(link) { return }
        if let better = better(than: link) {
            return depart(from: link, to: better, departureCause(of: link))
        }
        if isBad(link) {
            if scans.isDue(.escape, at: now) { orderEscapeScan(link) }
            reportStay(link)
        } else if scans.isDue(.lookAround, at: now) {
            lookAround(link)
        }
        if isStandingBy, let network = successor?.network,
            link.uselessness != nil || monitor.isFading || benefit.lost >= price(ofMoveTo: network)
        {
            return leaveForStandby(network, because: departureCause(of: link))
        }
        if returnToPreferred(from: link) { return }
        if !isBad(link) { scanAhead(link) }
        seekStandby(beside: link)
    }

    /// Plans the next scan and the next samples by the link's state.
    private mutating func watch(_ link: Link) {
        guard isTroubled else {
            let escape = scans[.escape]
            guard escape.since != nil else { return }
            scans[.escape] = ScanPlanner.Entry(due: link.uselessness == nil ? nil : escape.due, last: escape.last)
            (benefit, monitor.sampling) = (SwitchBenefit(), nil)
            return watchSignal(of: link.accessPoint)
        }
        let last = scans[.escape].last
        let since = scans[.escape].since ?? now
        if scans[.escape].since == nil {
            // A signal that wavers around the threshold causes few scans.
            scans[.escape].due = max(now, last.map { $0 + settings.weakScan.first } ?? now)
            scans[.escape].since = now
        }
        if let last, last >= since, now - last >= settings.criticalScan.first,
            hasMoved || isMovePaid(from: link, since: last)
        {
            scans[.escape].due = now
        }
        // The link has been in trouble for long, and nothing helped.
        let isPatient = now - since >= settings.patienceAfter && !monitor.isFading
        let isCritical = otherUplink == nil && !isPatient && isBreaking
        let sampling =
            otherUplink != nil
            ? settings.calmSampling
            : isPatient
                ? settings.unsupervisedSampling
                : isCritical || monitor.mayHaveFallen ? settings.criticalSampling : settings.alertSampling
        guard sampling != monitor.sampling else { return }
        if isCritical { (scans[.escape].due, scans[.escape].count) = (now, 0) }
        monitor.sampling = sampling
        watchSignal(of: link.accessPoint)
    }

    /// Whether the device has moved since the last scan: then its surroundings have changed.
    private var hasMoved: Bool {
        guard let before = monitor.levelAtScan, let level = monitor.level else { return false }
        return level <= before - settings.rescanDrop
    }

    mutating func watchSignal(of accessPoint: AccessPoint) {
        let threshold = settings.thresholds(for: accessPoint.frequency).weak
        let interval = monitor.sampling ?? settings.calmSampling
        actions.append(
            .watchSignal(
                SignalWatch(
                    threshold: threshold, interval: interval,
                    unsupervisedInterval: min(interval, settings.unsupervisedSampling))))
    }

    // MARK: The choice

    /// The access point to leave the link for; nil to stay.
    private func better(than link: Link) -> Candidate? {
        guard link.uselessness == nil else { return withInternet(insteadOf: link) }
        guard now - link.since >= settings.betweenSwitches else { return nil }
        let start = isTroubled ? scans[.escape].since ?? now : .distantPast
        return accessPoints(at: now, since: max(now - settings.freshness, start))
            .first { isWorthTheMove($0, from: link) }
    }

    /// Whether staying has cost as much as the move to an access point that was seen since `start`.
    private func isMovePaid(from link: Link, since start: Instant) -> Bool {
        accessPoints(at: now, since: start).contains { isWorthTheMove($0, from: link) }
    }

    private func isWorthTheMove(_ candidate: Candidate, from link: Link) -> Bool {
        let isRoam = candidate.network.id == link.network
        if isRoam, isExcluded(link) {
            // There is no way back, so it must be likely to work.
            return mayFollow(candidate, link) && candidate.rank.quality != .faint && candidate.rank.reputation == .sound
        }
        guard mayFollow(candidate, link), isRoam || isTroubled,
            candidate.rank.reputation <= (isBreaking ? .suspect : .sound),
            isRoam || mayLeaveChoice(link, for: candidate), isTroubled || candidate.rank.quality == .good,
            objection(to: candidate.bss, of: candidate.network.id) == nil
        else { return false }
        if isCongested, congested.contains(candidate.bss.frequency, at: now) { return false }
        if monitor.isFading, candidate.rank.quality == .good { return true }
        return benefit[candidate.bss.bssid] >= price(of: candidate, from: link)
    }

    /// Whether the owner's options exclude the link's access point: they changed after the join, or the driver roamed.
    func isExcluded(_ link: Link) -> Bool {
        network(link.network)?.permits(link.accessPoint.bssid, link.accessPoint.frequency) == false
    }

    /// Whether the network of the user's last command may be left: not because it is weak, but where frames get lost.
    private func mayLeaveChoice(_ link: Link, for candidate: Candidate) -> Bool {
        !isHeld(link) || isCongested || monitor.isFading
            || isLosingFrames && benefit[candidate.bss.bssid] >= Self.patienceWithChoice
    }

    /// Cost of staying at which the user's network may be left, in seconds of outage.
    private static let patienceWithChoice = 5.0

    /// Whether a recent command put the device here.
    private func isHeld(_ link: Link) -> Bool {
        (visit ?? choice).map { $0.network == link.network && $0.heldUntil > now } ?? false
    }

    /// Whether an access point is not the link's, may be joined, and the limits allow the move.
    private func mayFollow(_ candidate: Candidate, _ link: Link) -> Bool {
        guard candidate.bss.bssid != link.accessPoint.bssid, isOpen(candidate, at: now) else { return false }
        let isRoam = candidate.network.id == link.network
        let steady = scanCache.steadySignal(of: candidate.bss, in: candidate.network.id)
        let isClearlyGood =
            settings.headroom(steady, on: candidate.bss.frequency) >= settings.returnHeadroom / (isRoam ? 2 : 1)
        return (isRoam || candidate.network.ssid != ssid(link.network))
            && limits.allow(roam: isRoam, toClearlyGood: isClearlyGood, at: now, settings: settings)
    }

    /// Picks where to go when the network in use has no internet. The penalties on the networks prevent flapping.
    func withInternet(insteadOf link: Link) -> Candidate? {
        let all = accessPoints(at: now).filter { $0.rank.quality <= .usable && mayFollow($0, link) }
        let isTurn = noInternetMoves.isTurn(after: now - link.since)
        let next = isTurn ? all.filter { $0.rank.reputation == .useless }.min { tried($0) < tried($1) } : nil
        let fitting = all.filter { candidate in
            // Another access point of the network may have its own uplink.
            let isSibling = candidate.network.id == link.network
            return candidate == next
                || candidate.rank.reputation <= .suspect && (!isSibling || noInternetMoves.allowsSibling)
        }
        let good = fitting.filter { $0.rank.quality == .good }
        return good.first { $0.rank.reputation == .sound } ?? good.first { $0.network.id == link.network }
            ?? fitting.first
    }

    private func tried(_ candidate: Candidate) -> Instant {
        let history = history(of: candidate.network.id)
        return history.deadSince(candidate.bss.bssid) ?? history.triedAt ?? .distantPast
    }

    private func departureCause(of link: Link) -> PolicyDecision.Cause {
        if let uselessness = link.uselessness { return .failure(uselessness) }
        if isCongested { return .congested }
        return monitor.isFading ? .fading : isLosingFrames ? .critical : .weak
    }

    mutating func depart(from link: Link, to better: Candidate, _ cause: PolicyDecision.Cause) {
        let costs = costs(of: better, from: link)
        if cause == .congested { congested.leave(link.accessPoint.frequency, at: now) }
        if link.uselessness != nil {
            noInternetMoves.moved(
                again: better.rank.reputation == .useless, toSibling: better.network.id == link.network)
        }
        if !isJoinedBeside(better.network.id), link.uselessness == nil {
            limits.departs(isRoam: better.network.id == link.network, at: now, settings: settings)
        }
        join(better.network.id, at: better.bss, purpose: .automatic, cause: cause, costs: costs)
    }

    private func costs(of candidate: Candidate, from link: Link) -> PolicyDecision.Costs? {
        guard link.uselessness == nil, let level = comparableLevel(of: link) else { return nil }
        return PolicyDecision.Costs(
            here: cost(at: level, on: link.accessPoint.frequency, link.network, loss: monitor.loss),
            there: cost(of: candidate.bss, in: candidate.network.id, from: link),
            staying: benefit[candidate.bss.bssid], price: price(of: candidate, from: link))
    }

    private mutating func reportStay(_ link: Link) {
        let isLasting = monitor.weakSince.map { now - $0 >= Self.longestUnreported } ?? false
        guard isLasting || isBreaking || link.uselessness != nil, scan == nil, !scans[.escape].isReported else {
            return
        }
        scans[.escape].isReported = true
        record(
            .stay, from: link.network, fromBSSID: link.accessPoint.bssid,
            isHeld(link) ? .commanded : .noCandidate,
            considered: considerations(choosing: nil))
    }

    private static let longestUnreported = Duration.seconds(60)
}
