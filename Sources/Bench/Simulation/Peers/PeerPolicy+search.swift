import AgentModel
import Failover

extension PeerPolicy {
    private mutating func scan(at now: Instant) {
        let id = nextNumber()
        phase = .scanning(id: id)
        let isFirst = fruitlessScans == 0 && failures == 0
        requestScan(id, channels: model.looksWhereItKnows && isFirst ? knownChannels : [], reason: .offline)
    }

    private var knownChannels: [Frequency] {
        Set(networks.flatMap { channels[$0.id] ?? [] }).sorted()
    }

    private mutating func requestScan(_ id: UInt64, channels: [Frequency], reason: ScanOrder.Reason) {
        let hidden = networks.filter(\.isHidden).map(\.ssid)
        actions.append(.scan(ScanOrder(id: id, frequencies: channels, ssids: hidden, reason: reason)))
    }

    mutating func scanned(_ id: UInt64?, _ results: [BSS], at now: Instant) {
        for bss in results {
            air[bss.bssid] = bss
            for network in networks where network.accepts(bss) {
                channels[network.id, default: []].insert(bss.frequency)
            }
        }
        air = air.filter { now - $0.value.lastSeen <= Self.memory }
        switch phase {
        case .scanning(let own) where own == id: choose(at: now)
        case .linked(let link) where id != nil && link.search == id: roam(link, at: now)
        default: break
        }
    }

    mutating func scanFailed(_ id: UInt64, at now: Instant) {
        switch phase {
        case .scanning(let own) where own == id: waitForScan(at: now)
        case .linked(var link) where link.search == id:
            link.search = nil
            phase = .linked(link)
        default: break
        }
    }

    private mutating func waitForScan(at now: Instant) {
        if let loyalty, now < loyalty.until { return wait(Self.loyalScan, at: now) }
        wait(model.scanWaits.wait(after: fruitlessScans), at: now)
        fruitlessScans += 1
    }

    /// Waits before the next search, at most until `loyalty` ends.
    mutating func wait(_ time: Duration, at now: Instant) {
        let end = now + time
        phase = .waiting(until: loyalty.map { now < $0.until ? min(end, $0.until) : end } ?? end)
    }

    /// Interval of scans during `loyalty` (wpa_supplicant's `scan_interval`).
    private static let loyalScan = Duration.seconds(5)

    /// Scans, or uses the latest results if `loyalty` has just ended.
    mutating func search(at now: Instant) {
        guard let loyalty, loyalty.until <= now else { return scan(at: now) }
        self.loyalty = nil
        choose(at: now)
    }

    private mutating func choose(at now: Instant) {
        let candidates = candidates(at: now).filter { !blocks.refusesKey($0.network.id, at: now) }
        let free = candidates.filter { !blocks.holds($0.network.id, $0.bss.bssid, at: now) }
        queue = free.isEmpty ? candidates : free
        joinNext(at: now)
    }

    mutating func joinNext(at now: Instant) {
        guard let best = queue.first else { return waitForScan(at: now) }
        queue.removeFirst()
        join(best.network.id, best.bss, at: now)
    }

    /// Time for which the kernel keeps scan results.
    private static let memory = Duration.seconds(30)
    /// Maximum duration of a scan.
    private static let scanLength = Duration.seconds(3)

    private func candidates(at now: Instant) -> [Candidate] {
        let memory = model.trustsMemory ? Self.memory : Self.scanLength
        let recent = air.values.filter { bss in
            now - bss.lastSeen <= memory && doubts[bss.bssid].map { bss.lastSeen > $0 } ?? true
        }
        return recent.flatMap { bss in
            networks.filter { $0.accepts(bss) && isAllowed($0.id, at: now) }.map { Candidate(network: $0, bss: bss) }
        }.sorted { isPreferred($0, to: $1) }
    }

    private func isAllowed(_ network: NetworkID, at now: Instant) -> Bool {
        guard let loyalty, now < loyalty.until else { return true }
        return network == loyalty.network
    }

    private func isPreferred(_ left: Candidate, to right: Candidate) -> Bool {
        let leftRank = rank(left)
        let rightRank = rank(right)
        return leftRank == rightRank ? left.bss.bssid < right.bss.bssid : leftRank > rightRank
    }

    private func rank(_ candidate: Candidate) -> (Int, Double, Int) {
        let priority = candidate.network.isPreferred ? 1 : 0
        let recency = history.lastIndex(of: candidate.network.id).map { history.count - $0 }
        let signal = candidate.bss.signal
        return switch model.preference {
        case .signal: (0, 0, signal)
        case .priorityThenSignal: (priority, 0, signal)
        case .priorityThenRecency: (priority, recency.map { -Double($0) } ?? -.infinity, signal)
        case .signalTimesRecency: (0, Double(max(1, signal + 100)) / (1 + 0.1 * Double(recency ?? 10)), signal)
        }
    }

    // MARK: Roaming

    mutating func searchForBetter(_ link: Link, at now: Instant) {
        guard let roaming = model.roaming else { return }
        var link = link
        link.searchAt = now + roaming.every
        let isNeeded = link.signal.map { $0 < roaming.threshold(for: link.accessPoint.frequency) } ?? false
        if isNeeded, link.search == nil, link.searches < roaming.attempts {
            link.searches += 1
            let id = nextNumber()
            link.search = id
            requestScan(id, channels: [], reason: .weak)
        }
        phase = .linked(link)
    }

    private mutating func roam(_ link: Link, at now: Instant) {
        var link = link
        link.search = nil
        phase = .linked(link)
        guard let roaming = model.roaming, let signal = air[link.accessPoint.bssid]?.signal ?? link.signal else {
            return
        }
        let better = candidates(at: now).filter { candidate in
            candidate.bss.bssid != link.accessPoint.bssid && candidate.bss.signal >= signal + roaming.gain
                && (roaming.crossesNetworks || candidate.network.id == link.network)
                && !blocks.holds(candidate.network.id, candidate.bss.bssid, at: now)
        }
        guard let best = better.max(by: { $0.bss.signal < $1.bss.signal }) else { return }
        join(best.network.id, best.bss, at: now)
    }
}

extension KnownNetwork {
    fileprivate func accepts(_ bss: BSS) -> Bool {
        bss.ssid == ssid && (usesPassphrase ? bss.security.usesPassphrase : bss.security.isOpenToAll)
    }
}
