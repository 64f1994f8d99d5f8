import AgentModel

/// The air time that scans may take on a living link: it comes in at an even pace, and can be saved up to a limit.
struct ScanBudget: Hashable, Sendable {
    /// The time for a scan of one channel, and of all of them until that was measured: the radio returns to its own
    /// channel in between (Docs/contributor/testing.md).
    static let channelTime = Duration.milliseconds(100)
    static let firstFullScan = Duration.seconds(6)
    /// Less is no scan: the answer came from a cache.
    private static let shortestFullScan = Duration.seconds(1)

    private var fullScan = firstFullScan
    /// Nil for all that can be.
    private var saved: Duration?
    private var since: Instant?

    private func cost(of frequencies: [Frequency], _ settings: PolicySettings) -> Duration {
        // A scan longer than the reserve could never be paid.
        let full = min(fullScan, settings.scanReserve)
        return frequencies.isEmpty ? full : min(Self.channelTime * frequencies.count, full)
    }

    /// Takes the price of a scan out of the budget, or leaves it.
    /// - Parameter isSparing: whether half of a scan of all channels has to remain, by which a link that turns bad would
    ///   be left.
    /// - Returns: time until the scan can be paid for; nil if it was.
    mutating func spend(
        on frequencies: [Frequency], isUrgent: Bool, isSparing: Bool = false, at now: Instant, settings: PolicySettings
    ) -> Duration? {
        let share = isUrgent ? settings.weakScanShare : settings.scanShare
        let earned = since.map { (now - $0) * share / 1000 } ?? .zero
        let saved = min(settings.scanReserve, (saved ?? settings.scanReserve) + earned)
        since = now
        let cost = cost(of: frequencies, settings)
        let needed = min(settings.scanReserve, cost + (isSparing ? self.cost(of: [], settings) / 2 : .zero))
        self.saved = saved >= needed ? saved - cost : saved
        return saved >= needed ? nil : max(.seconds(1), (needed - saved) * 1000 / max(1, share))
    }

    /// How long a scan of all channels really took. One that is answered half a second after the order was ordered by
    /// another program.
    mutating func measured(_ time: Duration) {
        guard time >= Self.shortestFullScan / 2 else { return }
        fullScan = max(time, Self.shortestFullScan)
    }
}

// Scans that the policy orders, and what comes of all of them.
extension FailoverPolicy {
    /// Orders a scan, unless one is under way: its results serve as well.
    ///
    /// - Returns: when a living link has air time to spare for it; nil if it was ordered.
    @discardableResult
    mutating func orderScan(
        _ frequencies: [Frequency], reason: ScanOrder.Reason, isSparing: Bool = false
    ) -> Instant? {
        guard canScan, isInterfaceUp else { return nil }
        // A user waits for a command, and while the link leads nowhere the radio has nothing better to do.
        if case .online(let link) = phase, reason != .commanded, link.uselessness == nil,
            let wait = budget.spend(
                on: frequencies, isUrgent: isScanUrgent, isSparing: isSparing, at: now, settings: settings)
        {
            return now + wait
        }
        scanCount += 1
        let order = ScanOrder(id: scanCount, frequencies: frequencies, ssids: hiddenNames, reason: reason)
        scan = (order, now, now + settings.scanLimit)
        actions.append(.scan(order))
        return nil
    }

    /// The names to call hidden networks by, from scan to scan beginning with another one: a radio can call only so
    /// many.
    private var hiddenNames: [SSID] {
        let names = networks.filter(\.isHidden).map(\.ssid)
        guard !names.isEmpty else { return [] }
        let start = Int(scanCount % UInt64(names.count))
        return Array(names[start...] + names[..<start])
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
        // The end of a scan that was given up is worth as much as that of another program's.
        if let id, scan?.order.id == id {
            scanEnded(id: id, isComplete: true)
        } else {
            proceed()
        }
    }

    mutating func scanEnded(id: UInt64, isComplete: Bool) {
        guard let scan, scan.order.id == id else { return }
        self.scan = nil
        let isFull = scan.order.frequencies.isEmpty
        if isComplete {
            refusedScans = RefusedScans()
            if isFull {
                unseenScans.surveyed(at: now)
                if case .online = phase { budget.measured(now - scan.since) }
                if !knownPlaces.isEmpty { search.fullScanEnded(after: now - scan.since, at: now) }
            }
            noteAbsences(after: scan.order, since: scan.since)
        }
        if scan.order.reason == .commanded, let destination = command?.destination {
            let wasSeen = scanCache.best(of: destination, since: scan.since) != nil
            command?.scanned(everywhere: isFull, isComplete: isComplete, wasSeen: wasSeen)
        }
        proceed()
    }

    /// Notes which networks a scan looked for in their former places and did not find.
    private mutating func noteAbsences(after order: ScanOrder, since start: Instant) {
        for network in networks {
            let places = scanCache.places(of: network.id)
            guard order.frequencies.isEmpty || (!places.isEmpty && places.allSatisfy(order.frequencies.contains))
            else { continue }
            let isThere = scanCache.best(of: network.id, since: start) != nil
            if !isThere { histories[network.id, default: NetworkHistory()].missed(at: now) }
            if network.id == preferred, current != nil {
                let goodSince = preferredReturn.goodSince
                defer {
                    // It was good, and went: that was an end as well, if one without a link.
                    if let goodSince, preferredReturn.goodSince == nil {
                        histories[network.id, default: NetworkHistory()].moves.lasted(now - goodSince, isEnd: true)
                    }
                }
                preferredReturn.scanned(
                    found: isGood(network, since: start), at: now, settings: settings)
            }
        }
    }
}
