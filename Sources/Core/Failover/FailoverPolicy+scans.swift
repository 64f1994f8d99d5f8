import AgentModel

// Scans that the policy orders, and what comes of all of them.
extension FailoverPolicy {
    /// Orders a scan, unless one is under way: its results serve as well.
    ///
    /// - Returns: false where a living link has no air time to spare for it now.
    @discardableResult
    mutating func orderScan(
        _ frequencies: [Frequency], reason: ScanOrder.Reason, at now: Instant, _ actions: inout [PolicyAction]
    ) -> Bool {
        guard scan == nil, isInterfaceUp else { return true }
        // A person waits for a command, and while the link leads nowhere the radio has nothing better to do.
        if case .online(let link) = phase, reason != .commanded, link.uselessness == nil {
            guard budget.spend(on: frequencies, isUrgent: weakness.verdict >= .weak, at: now) else { return false }
        }
        scanCount += 1
        let order = ScanOrder(id: scanCount, frequencies: frequencies, ssids: hiddenNames, reason: reason)
        scan = (order, now, now + settings.scanLimit)
        actions.append(.scan(order))
        return true
    }

    /// The names to call hidden networks by, from scan to scan beginning with another one: a radio can call only so many.
    private var hiddenNames: [SSID] {
        let names = networks.filter(\.isHidden).map(\.ssid)
        guard !names.isEmpty else { return [] }
        let start = Int(scanCount % UInt64(names.count))
        return Array(names[start...] + names[..<start])
    }

    mutating func scanned(id: UInt64?, _ results: [BSS], at now: Instant, _ actions: inout [PolicyAction]) {
        air.note(
            results, of: networks, proven: { standings[$0]?.proven ?? ProvenAccessPoints() }, at: now)
        for network in networks {
            guard let bss = air.best(of: network.id, since: now - settings.freshness) else { continue }
            standings[network.id]?.seen(bss, at: now, settings: settings)
            for bss in air.accessPoints(of: network.id, since: now - settings.freshness) {
                standings[network.id]?.seenUntried(bss, at: now)
            }
        }
        if let id { scanEnded(id: id, isComplete: true, at: now, &actions) } else { proceed(at: now, &actions) }
    }

    mutating func scanEnded(id: UInt64, isComplete: Bool, at now: Instant, _ actions: inout [PolicyAction]) {
        guard let scan, scan.order.id == id else { return }
        self.scan = nil
        let isFull = scan.order.frequencies.isEmpty
        if isComplete {
            if isFull {
                if case .online = phase { budget.measured(now - scan.since) }
                if !knownPlaces.isEmpty { search.scannedEverywhere(for: now - scan.since, at: now) }
            }
            noteAbsences(after: scan.order, since: scan.since, at: now)
        }
        if scan.order.reason == .commanded, let destination = command?.destination {
            let wasSeen = air.best(of: destination, since: scan.since) != nil
            command?.looked(everywhere: isFull, isComplete: isComplete, wasSeen: wasSeen)
        }
        proceed(at: now, &actions)
    }

    /// Which networks a scan looked for where they were before, and did not find.
    private mutating func noteAbsences(after order: ScanOrder, since start: Instant, at now: Instant) {
        for network in networks {
            let places = air.places(of: network.id)
            guard order.frequencies.isEmpty || (!places.isEmpty && places.allSatisfy(order.frequencies.contains))
            else { continue }
            let isThere = air.best(of: network.id, since: start) != nil
            if !isThere { standings[network.id, default: Standing()].missed(at: now) }
            if network.id == preferred, current != nil {
                preferredReturn.looked(
                    found: isThere ? quality(ofPreferred: network, since: start) : nil, at: now, settings: settings)
            }
        }
    }
}
