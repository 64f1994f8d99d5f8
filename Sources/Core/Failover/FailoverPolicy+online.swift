import AgentModel

/// Scans for something better than a link in trouble.
struct EscapeScans: Sendable {
    /// Time of the next scan; nil while the link is fine.
    var next: Instant?
    var count = 0
    /// Time of the last scan of all channels.
    var lastFull: Instant?
    /// Time of the last scan, and the link's signal then in dBm.
    var last: (at: Instant, level: Int?)?
    /// A signal that wavers around the threshold causes no scan before this time.
    var quietUntil: Instant?
    /// Start of the trouble.
    var since: Instant?
    var pace = Pace.calm
    /// Whether the history says already that nothing better is in range.
    var isReported = false

    /// Scans all channels again, if there is trouble.
    mutating func startOver(at now: Instant) {
        guard next != nil else { return }
        next = now
        lastFull = nil
        count = 0
    }
}

/// How often the signal of a link is measured.
enum Pace: Sendable {
    case calm
    /// The link has been in trouble for long, and nothing helped.
    case patient
    case alert
    case critical
}

// Decisions while a link is in use.
extension FailoverPolicy {
    /// In dBm. Other values from a driver are ignored.
    private static let credibleSignals = -150...50

    mutating func measured(_ signal: Int, at now: Instant, _ actions: inout [PolicyAction]) {
        guard case .online(let link) = phase, Self.credibleSignals.contains(signal) else { return }
        monitor.add(
            signal, at: now, thresholds: settings.thresholds(for: link.accessPoint.frequency),
            recovery: settings.recovery)
        countBenefit(of: link, at: now)
        proceed(at: now, &actions)
    }

    mutating func lost(_ percent: Int, at now: Instant, _ actions: inout [PolicyAction]) {
        guard case .online(let link) = phase else { return }
        monitor.lost(percent, at: now)
        countBenefit(of: link, at: now)
        proceed(at: now, &actions)
    }

    /// Forgets what was measured: the link is another one, or the measurements are old.
    mutating func watchAnew() {
        (monitor, benefit, escape, strongerScans) = (LinkMonitor(), SwitchBenefit(), EscapeScans(), StrongerScans())
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
    private func isBad(_ link: Link) -> Bool { isTroubled || link.uselessness != nil }

    /// Leaves a link for a better one, and scans so that better ones are known.
    mutating func reconsider(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        watch(link, at: now, &actions)
        // Without wpa_supplicant nothing can be joined. One move at a time.
        guard otherUplink == nil, isReady, !isMoving else { return }
        if followNotice(link, at: now, &actions) { return }
        if let better = better(than: link, at: now) {
            return depart(from: link, to: better, departureCause(of: link), at: now, &actions)
        }
        if isBad(link) {
            if let next = escape.next, next <= now, canScan { orderEscapeScan(link, at: now, &actions) }
            reportStay(link, at: now, &actions)
        }
        if isStandingBy, let network = successor?.network,
            link.uselessness != nil || monitor.isFading || benefit.lost >= price(ofMoveTo: network)
        {
            return leaveForStandby(network, because: departureCause(of: link), at: now, &actions)
        }
        if returnToPreferred(from: link, at: now, &actions) { return }
        if !isBad(link) {
            scanForUnseen(link, at: now, &actions)
            scanForStronger(link, at: now, &actions)
        }
        seekStandby(beside: link, at: now, &actions)
    }

    /// Plans the next scan and the next samples by the link's state.
    private mutating func watch(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        guard isTroubled else {
            guard escape.since != nil else { return }
            escape = EscapeScans(next: link.uselessness == nil ? nil : escape.next, quietUntil: escape.quietUntil)
            benefit = SwitchBenefit()
            return watchSignal(of: link.accessPoint, &actions)
        }
        let since = escape.since ?? now
        if escape.since == nil { escape.next = max(now, escape.quietUntil ?? now) }
        escape.since = since
        if let last = escape.last, now - last.at >= settings.criticalScan.first,
            hasMoved(since: last.level) || isMovePaid(from: link, at: now, since: last.at)
        {
            escape.next = now
        }
        let pace: Pace =
            otherUplink != nil
            ? .calm
            : now - since >= settings.patienceAfter && !monitor.isFading ? .patient : isBreaking ? .critical : .alert
        guard pace != escape.pace else { return }
        if pace == .critical {
            escape.next = now
            escape.count = 0
        }
        escape.pace = pace
        watchSignal(of: link.accessPoint, &actions)
    }

    /// Whether the device has moved since the link had a signal in dBm: then its surroundings have changed.
    private func hasMoved(since before: Int?) -> Bool {
        guard let before, let level = monitor.level else { return false }
        return level <= before - settings.rescanDrop
    }

    mutating func watchSignal(of accessPoint: AccessPoint, _ actions: inout [PolicyAction]) {
        let threshold = settings.thresholds(for: accessPoint.frequency).weak
        let interval =
            switch escape.pace {
            case .calm: settings.calmSampling
            case .patient: settings.unsupervisedSampling
            case .alert: settings.alertSampling
            case .critical: settings.criticalSampling
            }
        actions.append(
            .watchSignal(
                SignalWatch(
                    threshold: threshold, interval: interval,
                    unsupervisedInterval: min(interval, settings.unsupervisedSampling))))
    }

    // MARK: The choice

    /// The access point to leave the link for; nil to stay.
    private func better(than link: Link, at now: Instant) -> Candidate? {
        guard link.uselessness == nil else { return withInternet(insteadOf: link, at: now) }
        guard now - link.since >= settings.betweenSwitches else { return nil }
        let start = isTroubled ? escape.since ?? now : .distantPast
        return accessPoints(at: now, since: max(now - settings.freshness, start))
            .first { isWorthTheMove($0, from: link, at: now) }
    }

    /// Whether staying has cost as much as the move to an access point that was seen since `start`.
    private func isMovePaid(from link: Link, at now: Instant, since start: Instant) -> Bool {
        accessPoints(at: now, since: start).contains { isWorthTheMove($0, from: link, at: now) }
    }

    private func isWorthTheMove(_ candidate: Candidate, from link: Link, at now: Instant) -> Bool {
        let isRoam = candidate.network.id == link.network
        guard mayFollow(candidate, link, at: now), isRoam || isTroubled,
            candidate.rank.reputation <= (isBreaking ? .suspect : .sound),
            isRoam || mayLeaveChoice(link, for: candidate, at: now), isTroubled || candidate.rank.quality == .good,
            objection(to: candidate.bss, of: candidate.network.id, at: now) == nil
        else { return false }
        if isCongested, congested.contains(candidate.bss.frequency, at: now) { return false }
        if monitor.isFading, candidate.rank.quality == .good { return true }
        return benefit[candidate.bss.bssid] >= price(of: candidate, from: link)
    }

    /// Whether the network of the user's last command may be left: not because it is weak, but where frames get lost.
    private func mayLeaveChoice(_ link: Link, for candidate: Candidate, at now: Instant) -> Bool {
        !isHeld(link, at: now) || isCongested || monitor.isFading
            || isLosingFrames && benefit[candidate.bss.bssid] >= Self.patienceWithChoice
    }

    /// In seconds of outage.
    private static let patienceWithChoice = 5.0

    /// Whether a command put the device where it is, not long ago.
    private func isHeld(_ link: Link, at now: Instant) -> Bool {
        (visit ?? choice).map { $0.network == link.network && $0.heldUntil > now } ?? false
    }

    /// Whether an access point is not the link's, is open to the device, and the limits allow the move.
    private func mayFollow(_ candidate: Candidate, _ link: Link, at now: Instant) -> Bool {
        guard candidate.bss.bssid != link.accessPoint.bssid, isOpen(candidate, at: now) else { return false }
        let isRoam = candidate.network.id == link.network
        let isClearlyGood = candidate.rank.headroom >= (isRoam ? 0 : settings.returnHeadroom)
        return (isRoam || candidate.network.ssid != ssid(link.network))
            && limits.allow(roam: isRoam, toClearlyGood: isClearlyGood, at: now, settings: settings)
    }

    /// Picks where to go when the network in use has no internet. The penalties on the networks prevent flapping.
    private func withInternet(insteadOf link: Link, at now: Instant) -> Candidate? {
        let all = accessPoints(at: now).filter { $0.rank.quality <= .usable && mayFollow($0, link, at: now) }
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
        let history = histories[candidate.network.id]
        return history?.deadSince(candidate.bss.bssid) ?? history?.triedAt ?? .distantPast
    }

    private func departureCause(of link: Link) -> PolicyDecision.Cause {
        if let uselessness = link.uselessness { return .failure(uselessness) }
        if isCongested { return .jammed }
        return monitor.isFading ? .fading : isLosingFrames ? .critical : .weak
    }

    mutating func depart(
        from link: Link, to better: Candidate, _ cause: PolicyDecision.Cause, at now: Instant,
        _ actions: inout [PolicyAction]
    ) {
        let costs = costs(of: better, from: link, at: now)
        if cause == .jammed { congested.leave(link.accessPoint.frequency, at: now) }
        if link.uselessness != nil {
            noInternetMoves.moved(
                again: better.rank.reputation == .useless, toSibling: better.network.id == link.network)
        }
        if !isJoinedBeside(better.network.id), link.uselessness == nil {
            limits.departs(isRoam: better.network.id == link.network, at: now, settings: settings)
        }
        join(
            better.network.id, at: better.bss, purpose: .automatic, cause: cause, costs: costs, at: now, &actions)
    }

    private func costs(of candidate: Candidate, from link: Link, at now: Instant) -> PolicyDecision.Costs? {
        guard link.uselessness == nil, let level = comparableLevel(of: link, at: now) else { return nil }
        return PolicyDecision.Costs(
            here: cost(at: level, on: link.accessPoint.frequency, link.network, loss: monitor.loss),
            there: cost(of: candidate.bss, in: candidate.network.id, from: link),
            staying: benefit[candidate.bss.bssid], price: price(of: candidate, from: link))
    }

    private mutating func reportStay(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        let isLasting = monitor.weakSince.map { now - $0 >= Self.longestUnreported } ?? false
        guard isLasting || isBreaking || link.uselessness != nil, scan == nil, !escape.isReported else { return }
        escape.isReported = true
        record(
            .stay, from: link.network, fromBSSID: link.accessPoint.bssid,
            isHeld(link, at: now) ? .commanded : .noCandidate,
            considered: considerations(choosing: nil, at: now), at: now, &actions)
    }

    private static let longestUnreported = Duration.seconds(60)

    // MARK: Scans

    private mutating func orderEscapeScan(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        let places = Set(networks.flatMap { scanCache.places(of: $0.id) }).union(places(beside: link))
        let isOld = escape.since.map { now - $0 >= settings.patienceAfter } ?? (escape.count > 8)
        // Each second counts while frames get lost, and a scan of all channels takes seconds.
        let pause =
            isOld
            ? (link.uselessness == nil ? settings.weakScan.last * 4 : settings.patientFullScan)
            : isLosingFrames ? settings.weakScan.last : settings.weakScan.first * 2
        let wasFull = escape.lastFull.map { now - $0 < pause } ?? false
        let isQuick = !places.isEmpty && (escape.count == 0 || wasFull || hasProspect(link, at: now))
        var frequencies = isQuick ? places.sorted() : []
        let reason: ScanOrder.Reason = link.uselessness == nil ? .weak : .unusable
        var isOrdered = orderScan(frequencies, reason: reason, at: now, &actions)
        if !isOrdered, isLosingFrames, !isQuick, !places.isEmpty {
            frequencies = places.sorted()
            isOrdered = orderScan(frequencies, reason: reason, at: now, &actions)
        }
        guard isOrdered else {
            escape.next = now + budget.wait(for: frequencies, isUrgent: isScanUrgent)
            return
        }
        if frequencies.isEmpty { escape.lastFull = now }
        escape.last = (now, monitor.level)
        let isUrgent = isBreaking || link.uselessness != nil
        escape.next = now + (isUrgent ? settings.criticalScan : settings.weakScan).wait(after: escape.count)
        escape.count += 1
        escape.quietUntil = now + settings.weakScan.first
    }

    /// Whether the last scans showed something better. Then its channels are scanned again before the link is left.
    private func hasProspect(_ link: Link, at now: Instant) -> Bool {
        guard link.uselessness == nil else { return false }
        let start = max(link.since, now - settings.weakScan.first)
        return accessPoints(at: now, since: start).contains { candidate in
            candidate.bss.bssid != link.accessPoint.bssid && isOpen(candidate, at: now)
                && objection(to: candidate.bss, of: candidate.network.id, at: now) == nil
        }
    }

    /// Whether the larger share of air time pays for a scan.
    var isScanUrgent: Bool { monitor.weakSince != nil }

    /// Times of the next scans while the link lives.
    func scanMoments(_ link: Link) -> [Instant?] {
        guard otherUplink == nil, isReady, !isMoving else { return [] }
        return [
            isBad(link) ? escape.next : nextUnseenScan(link), isBad(link) ? nil : strongerScan(link),
            preferredReturnMoment(link), noticeMoment(link), standbyMoment,
        ]
    }

    private func preferredReturnMoment(_ link: Link) -> Instant? {
        guard let preferred = preferredNetwork(from: link), let scan = preferredReturn.nextScan else { return nil }
        let history = histories[preferred]
        return [scan, history?.block?.until, history?.uselessness?.until].compactMap(\.self).max()
    }

    /// Time of the next scan for a stronger access point of the network; nil where there is no reason for one.
    func strongerScan(_ link: Link) -> Instant? {
        guard !carriesAll, hasOthers(than: link) else { return nil }
        return strongerScans.next ?? link.since + StrongerScans.first
    }

    /// Whether no access point could carry more than the link, as far as its signal is known.
    var carriesAll: Bool { monitor.level.map { $0 >= LinkCost.best } ?? true }

    /// Whether the network of a link has other access points or channels.
    func hasOthers(than link: Link) -> Bool {
        scanCache.places(of: link.network).count > 1
            || scanCache.accessPoints(of: link.network, since: .distantPast)
                .contains { $0.bssid != link.accessPoint.bssid }
    }

    private mutating func scanForStronger(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        guard canScan, let moment = strongerScan(link), moment <= now else { return }
        let places = scanCache.places(of: link.network)
        strongerScans.scanned(isPromising: benefit.isPositive, at: now)
        if budget.canSpare(places, at: now) { orderScan(places, reason: .weak, at: now, &actions) }
    }
}

/// Scans for a stronger access point of the network, while the link is fine.
struct StrongerScans: Sendable, Hashable {
    /// Nil before the first scan of the link.
    private(set) var next: Instant?
    private var count = 0

    /// From coming online to the first scan.
    static let first = Duration.seconds(30)
    private static let interval = Duration.seconds(60)
    /// After so many scans in vain they are made less often.
    private static let patience = 10
    private static let patientInterval = Duration.seconds(300)

    /// - Parameter isPromising: whether an access point would be better.
    mutating func scanned(isPromising: Bool, at now: Instant) {
        next = now + (isPromising || count < Self.patience ? Self.interval : Self.patientInterval)
        count += 1
    }
}
