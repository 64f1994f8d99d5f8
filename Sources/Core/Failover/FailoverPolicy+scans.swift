import AgentModel

// Scans that the policy orders, and the results of all scans.
extension FailoverPolicy {
    /// The policy's scan under way, its start and its deadline.
    var scan: (order: ScanOrder, since: Instant, deadline: Instant)? { scans.running }

    /// The scans that the radio has refused since the last that worked.
    public var refusedScans: RefusedScans { scans.refused }

    /// Whether a scan can be ordered now.
    var canScan: Bool { scans.isFree }

    /// Ends a scan of all channels, which takes seconds; one of known channels takes a fraction of one.
    mutating func cancelWideScan(but kept: ScanOrder.Reason? = nil) {
        if let scan, scan.order.frequencies.isEmpty, scan.order.reason != kept { actions.append(.cancelScan) }
    }

    /// Orders a scan, unless one is under way: its results serve as well.
    /// - Parameter wait: time until the next scan for this need.
    /// - Returns: whether it was ordered. Otherwise it becomes due when a living link has air time for it.
    @discardableResult
    mutating func orderScan(
        _ frequencies: [Frequency], for need: ScanPlanner.Need, as reason: ScanOrder.Reason,
        then wait: Duration? = nil, isSparing: Bool = false
    ) -> Bool {
        guard canScan, isInterfaceUp else { return false }
        // The budget does not apply if a user waits for a command, or if the link has or may have no internet.
        var share: Int?
        if case .online(let link) = phase, need != .command, reason != .unusable, link.uselessness == nil {
            share = monitor.weakSince == nil ? settings.scanShare : settings.weakScanShare
        }
        guard
            let order = scans.next(
                frequencies, for: need, as: reason, hidden: networks.filter(\.isHidden).map(\.ssid), share: share,
                isSparing: isSparing, then: wait, at: now, settings: settings)
        else { return false }
        actions.append(.scan(order))
        return true
    }

    mutating func scanned(id: UInt64?, _ results: [BSS]) {
        scanCache.note(
            results, of: networks, verified: { histories[$0]?.verified ?? VerifiedAccessPoints() }, at: now)
        for network in networks {
            guard let bss = scanCache.best(of: network.id, since: now - settings.freshness) else { continue }
            histories[network.id]?.seen(bss, at: now, settings: settings)
            for bss in scanCache.accessPoints(of: network.id, since: now - settings.freshness) {
                histories[network.id]?.seenUntried(bss, at: now)
            }
        }
        if case .online(let link) = phase { countBenefit(of: link) }
        // Results of a scan that was given up count like another program's.
        if let id, scan?.order.id == id {
            scanEnded(id: id, isComplete: true)
        } else {
            proceed()
        }
    }

    mutating func scanEnded(id: UInt64, isComplete: Bool) {
        guard let scan = scans.ended(id, isComplete: isComplete, isOnLink: current != nil, at: now) else { return }
        let isFull = scan.order.frequencies.isEmpty
        if isComplete {
            // While all channels are scanned, known ones wait. So a slow scan is repeated less often.
            if isFull, !knownPlaces.isEmpty, let due = scans[.full].due {
                scans[.full].due = max(due, now + min(now - scan.since, Self.longestFullScan) * 5)
            }
            noteAbsences(after: scan.order, since: scan.since)
        }
        if scan.order.reason == .commanded, let destination = command?.destination {
            let wasSeen = scanCache.best(of: destination, since: scan.since) != nil
            command?.scanned(everywhere: isFull, isComplete: isComplete, wasSeen: wasSeen)
        }
        proceed()
    }

    /// Longest plausible duration of a scan. A longer one includes a sleep of the device.
    private static let longestFullScan = Duration.seconds(20)

    /// Notes networks that a scan did not find on their known channels.
    private mutating func noteAbsences(after order: ScanOrder, since start: Instant) {
        for network in networks {
            let places = scanCache.places(of: network.id)
            guard order.frequencies.isEmpty || (!places.isEmpty && places.allSatisfy(order.frequencies.contains))
            else { continue }
            let isThere = scanCache.best(of: network.id, since: start) != nil
            if !isThere { histories[network.id, default: NetworkHistory()].missed(at: now) }
            if network.id == preferred, current != nil {
                let goodSince = preferredReturn.goodSince
                let isGood = isGood(network, since: start)
                if let next = preferredReturn.scanned(found: isGood, at: now, settings: settings) {
                    scans[.preferred].due = next
                }
                // A good preferred network that disappears counts like a link that ended.
                if let goodSince, preferredReturn.goodSince == nil {
                    histories[network.id, default: NetworkHistory()].moves.lasted(now - goodSince, isEnd: true)
                }
            }
        }
    }
}

// Scans while a link is in use.
extension FailoverPolicy {
    /// Channels where something better than a link may be.
    func places(around link: Link) -> [Frequency] {
        Set(networks.flatMap { scanCache.places(of: $0.id) }).union(places(beside: link)).sorted()
    }

    /// Plans scans before the probe that may be the last: by the verdict it is known where to go. A link may waver for
    /// years, so the rounds get rarer.
    mutating func planLookAround(_ link: Link) {
        guard !isBad(link), mayLackInternet(link) else { return }
        var looks = scans[.lookAround]
        if let last = looks.last {
            guard now - last >= settings.weakScan.wait(after: (looks.count - 1) / 2) else { return }
            if now - last >= settings.weakScan.last * 2 { looks.count = 0 }
        }
        (looks.since, looks.due) = (now, now)
        scans[.lookAround] = looks
    }

    /// Scans for something with internet, and once more if that shows nothing: a scan misses a network now and then.
    mutating func lookAround(_ link: Link) {
        let looks = scans[.lookAround]
        scans[.lookAround].due = nil
        let other = withInternet(insteadOf: link)
        let isKnown = other.map { $0.network.id != link.network && $0.rank.reputation <= .suspect } ?? false
        guard mayLackInternet(link), !isKnown else { return }
        let isFirst = looks.last ?? .distantPast < looks.since ?? now
        orderScan(
            Frequency.withUsual(places(around: link)), for: .lookAround, as: .unusable, then: isFirst ? .zero : nil)
    }

    /// Whether one more failed probe means that the link has no internet.
    private func mayLackInternet(_ link: Link) -> Bool {
        guard let rules = settings.validation, link.validation.failures > 0 else { return false }
        let sufficient = self.link.sufficientFailures(rules, context(of: self.link, isBeside: false))
        return link.validation.failures + 1 >= sufficient
    }

    mutating func orderEscapeScan(_ link: Link) {
        let escape = scans[.escape]
        let isFirst = escape.count == 0 && link.uselessness == .noInternet
        let places = isFirst ? Frequency.withUsual(places(around: link)) : places(around: link)
        let isOld = escape.since.map { now - $0 >= settings.patienceAfter } ?? (escape.count > 8)
        let isUseless = link.uselessness != nil
        // Each second counts while frames get lost, and a scan of all channels takes seconds.
        let pause =
            switch (isOld, isUseless) {
            case (true, true): settings.patientFullScan
            case (true, false): settings.weakScan.last * 4
            case (false, _) where isLosingFrames: settings.weakScan.last
            case (false, true): settings.weakScan.first
            case (false, false): settings.weakScan.first * 2
            }
        let wasFull = escape.lastFull.map { now - $0 < pause } ?? false
        let isQuick = !places.isEmpty && (escape.count == 0 || wasFull || hasProspect(link))
        let reason: ScanOrder.Reason = isUseless ? .unusable : .weak
        let isUrgent = isBreaking || isUseless
        // A link without internet is of no use meanwhile, so all channels follow the known ones at once. Behind a login
        // page a user may be signing in.
        let wait = isFirst ? .zero : (isUrgent ? settings.criticalScan : settings.weakScan).wait(after: escape.count)
        if orderScan(isQuick ? places : [], for: .escape, as: reason, then: wait)
            || isLosingFrames && !isQuick && !places.isEmpty
                && orderScan(places, for: .escape, as: reason, then: wait)
        {
            monitor.levelAtScan = monitor.level
        }
    }

    /// Whether the last scans showed something better. Then its channels are scanned again before the link is left.
    private func hasProspect(_ link: Link) -> Bool {
        guard link.uselessness == nil else { return false }
        let start = max(link.since, now - settings.weakScan.first)
        return accessPoints(at: now, since: start).contains { candidate in
            candidate.bss.bssid != link.accessPoint.bssid && isOpen(candidate, at: now)
                && objection(to: candidate.bss, of: candidate.network.id) == nil
        }
    }

    /// Times of the next scans while the link lives.
    func scanMoments(_ link: Link) -> [Instant?] {
        guard otherUplink == nil, isReady, !isMoving else { return [] }
        return
            (isBad(link)
            ? [scans[.escape].due] : [scans[.lookAround].due, nextUnseenScan(link), nextStrongerScan(link)])
            + [nextPreferredScan(link), noticeMoment, standbyMoment]
    }

    private func nextPreferredScan(_ link: Link) -> Instant? {
        guard let preferred = preferredNetwork(from: link), let scan = scans[.preferred].due else { return nil }
        let history = history(of: preferred)
        return [scan, history.block?.until, history.uselessness?.until].compactMap(\.self).max()
    }

    /// Time from coming online to the first scan for a stronger access point of the network.
    private static let beforeStrongerScan = Duration.seconds(30)
    private static let strongerInterval = Duration.seconds(60)
    /// How long a link lives before the first scan of all channels, if no access point could carry more than it does.
    private static let surveyPatience = Duration.seconds(300)

    /// Time of the next scan for a stronger access point of the network; nil where there is no reason for one.
    func nextStrongerScan(_ link: Link) -> Instant? {
        guard !carriesAll(link), hasOthers(than: link) else { return nil }
        return max(
            link.since + Self.beforeStrongerScan,
            scans[.stronger].last.map { $0 + Self.strongerInterval } ?? link.since)
    }

    /// Time of the next scan of all channels on a link that is fine: for networks that were never seen, and otherwise
    /// for access points on channels where none was.
    func nextUnseenScan(_ link: Link) -> Instant? {
        if isOneUnseen { return scans[.unseen].due }
        let carriesAll = carriesAll(link)
        let first = link.since + (carriesAll ? Self.surveyPatience : Self.beforeStrongerScan)
        let further = scans.surveyedAt.map { $0 + settings.scanInterval.unseen.last * (carriesAll ? 4 : 1) }
        return max(first, further ?? first, scans[.unseen].due ?? first)
    }

    /// Whether a network of the list was never seen.
    var isOneUnseen: Bool { networks.contains { scanCache.places(of: $0.id).isEmpty } }

    /// Whether no access point could carry more than the link, as far as its signal is known, and the owner permits it.
    func carriesAll(_ link: Link) -> Bool {
        !isExcluded(link) && monitor.level.map { $0 >= LinkCost.best } ?? true
    }

    /// Whether the network of a link has other access points or channels.
    func hasOthers(than link: Link) -> Bool {
        scanCache.places(of: link.network).count > 1
            || scanCache.accessPoints(of: link.network, since: .distantPast)
                .contains { $0.bssid != link.accessPoint.bssid }
    }

    /// Scans on a fine link for networks and channels not seen yet, and for a stronger access point.
    mutating func scanAhead(_ link: Link) {
        if canScan, let next = nextUnseenScan(link), next <= now {
            let wait = settings.scanInterval.unseen.wait(after: scans[.unseen].count)
            orderScan([], for: .unseen, as: .unseen, then: wait, isSparing: !isOneUnseen)
        }
        if canScan, let next = nextStrongerScan(link), next <= now {
            orderScan(scanCache.places(of: link.network), for: .stronger, as: .weak, isSparing: true)
            scans[.stronger].last = now
        }
    }
}
