import AgentModel

/// The air time that scans may take on a living link: it comes in at an even pace, and can be saved up to a limit.
struct ScanBudget: Hashable, Sendable {
    /// The time for a scan of one channel, and of all of them until that was measured: the radio returns to its own
    /// channel in between (Docs/contributor/testing.md).
    static let channelTime = Duration.milliseconds(100)
    static let firstFullScan = Duration.seconds(6)
    /// Less is no scan: the answer came from a cache.
    private static let shortestFullScan = Duration.seconds(1)

    private var share: Int
    private var urgentShare: Int
    private var reserve: Duration
    private var fullScan = firstFullScan
    private var saved: Duration
    private var since: Instant?

    init(_ settings: PolicySettings) {
        share = settings.scanShare
        urgentShare = settings.weakScanShare
        reserve = settings.scanReserve
        saved = reserve
    }

    /// Keeps the savings, as far as there is still room for them.
    mutating func adopt(_ settings: PolicySettings) {
        share = settings.scanShare
        urgentShare = settings.weakScanShare
        reserve = settings.scanReserve
        saved = min(saved, reserve)
        fullScan = min(fullScan, reserve)
    }

    func cost(of frequencies: [Frequency]) -> Duration {
        frequencies.isEmpty ? fullScan : min(Self.channelTime * frequencies.count, fullScan)
    }

    /// Takes the price of a scan out of the budget, or leaves it.
    mutating func spend(on frequencies: [Frequency], isUrgent: Bool, at now: Instant) -> Bool {
        earn(isUrgent: isUrgent, at: now)
        let cost = cost(of: frequencies)
        guard cost <= saved else { return false }
        saved -= cost
        return true
    }

    private mutating func earn(isUrgent: Bool, at now: Instant) {
        let earned = since.map { (now - $0) * (isUrgent ? urgentShare : share) / 1000 } ?? .zero
        saved = min(reserve, saved + earned)
        since = now
    }

    /// Whether a scan leaves half of what one of all channels takes, by which a link that turns bad would be left; or whether all is saved
    /// that can be.
    mutating func canSpare(_ frequencies: [Frequency], at now: Instant) -> Bool {
        earn(isUrgent: false, at: now)
        return saved >= min(reserve, cost(of: frequencies) + fullScan / 2)
    }

    /// How long to wait until a scan can be paid for that was refused.
    func wait(for frequencies: [Frequency], isUrgent: Bool) -> Duration {
        let missing = cost(of: frequencies) - saved
        return max(.seconds(1), missing * 1000 / max(1, isUrgent ? urgentShare : share))
    }

    /// How long a scan of all channels really took. A scan longer than the reserve could never be paid, and one that is
    /// answered half a second after the order was ordered by another program.
    mutating func measured(_ time: Duration) {
        guard time >= Self.shortestFullScan / 2 else { return }
        fullScan = min(max(time, Self.shortestFullScan), reserve)
    }
}

// Scans that the policy orders, and what comes of all of them.
extension FailoverPolicy {
    /// Orders a scan, unless one is under way: its results serve as well.
    ///
    /// - Returns: false where a living link has no air time to spare for it now.
    @discardableResult
    mutating func orderScan(
        _ frequencies: [Frequency], reason: ScanOrder.Reason, at now: Instant, _ actions: inout [PolicyAction]
    ) -> Bool {
        guard canScan, isInterfaceUp else { return true }
        // A user waits for a command, and while the link leads nowhere the radio has nothing better to do.
        if case .online(let link) = phase, reason != .commanded, link.uselessness == nil {
            guard budget.spend(on: frequencies, isUrgent: isScanUrgent, at: now) else {
                return false
            }
        }
        scanCount += 1
        let order = ScanOrder(id: scanCount, frequencies: frequencies, ssids: hiddenNames, reason: reason)
        scan = (order, now, now + settings.scanLimit)
        actions.append(.scan(order))
        return true
    }

    /// The names to call hidden networks by, from scan to scan beginning with another one: a radio can call only so
    /// many.
    private var hiddenNames: [SSID] {
        let names = networks.filter(\.isHidden).map(\.ssid)
        guard !names.isEmpty else { return [] }
        let start = Int(scanCount % UInt64(names.count))
        return Array(names[start...] + names[..<start])
    }

    mutating func scanned(id: UInt64?, _ results: [BSS], at now: Instant, _ actions: inout [PolicyAction]) {
        scanCache.note(
            results, of: networks, proven: { histories[$0]?.proven ?? ProvenAccessPoints() }, at: now)
        for network in networks {
            guard let bss = scanCache.best(of: network.id, since: now - settings.freshness) else { continue }
            histories[network.id]?.seen(bss, at: now, settings: settings)
            for bss in scanCache.accessPoints(of: network.id, since: now - settings.freshness) {
                histories[network.id]?.seenUntried(bss, at: now)
            }
        }
        if case .online(let link) = phase { countBenefit(of: link, at: now) }
        // The end of a scan that was given up is worth as much as that of another program's.
        if let id, scan?.order.id == id {
            scanEnded(id: id, isComplete: true, at: now, &actions)
        } else {
            proceed(at: now, &actions)
        }
    }

    mutating func scanEnded(id: UInt64, isComplete: Bool, at now: Instant, _ actions: inout [PolicyAction]) {
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
            noteAbsences(after: scan.order, since: scan.since, at: now)
        }
        if scan.order.reason == .commanded, let destination = command?.destination {
            let wasSeen = scanCache.best(of: destination, since: scan.since) != nil
            command?.scanned(everywhere: isFull, isComplete: isComplete, wasSeen: wasSeen)
        }
        proceed(at: now, &actions)
    }

    /// Notes which networks a scan looked for in their former places and did not find.
    private mutating func noteAbsences(after order: ScanOrder, since start: Instant, at now: Instant) {
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
                    found: isThere ? quality(ofPreferred: network, since: start) : nil, at: now, settings: settings)
            }
        }
    }
}
