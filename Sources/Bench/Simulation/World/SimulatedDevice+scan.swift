import AgentModel
import Failover

// The radio's scans, and what the kernel remembers of them.
extension SimulatedDevice {
    struct Scan {
        let number: Int
        let frequencies: [Frequency]
        let ssids: [SSID]
        let since: Int64
        var end: Int64
        let isOnLink: Bool
        /// Whether the radio leaves the channel of its link for it.
        let isAway: Bool
        var isAborted = false
    }

    /// What the kernel knows of an access point.
    struct Sight {
        var seen: Int64
        /// In dBm.
        var signal: Int
        var hasName: Bool
    }

    /// Begins a scan.
    /// - Parameter isQuestion: whether it is of the link's own channel, which the radio does not leave for it.
    /// - Returns: the scan's number, or nil where the radio is busy with another one.
    mutating func scan(_ frequencies: [Frequency], calling ssids: [SSID], isQuestion: Bool = false) -> Int? {
        guard isRadioFree else { return nil }
        countAll()
        scans += 1
        let time = isQuestion ? Self.questionTime : scanTime(of: frequencies)
        scan = Scan(
            number: scans, frequencies: frequencies, ssids: ssids, since: now, end: now + time, isOnLink: hasLink,
            isAway: !isQuestion)
        scanBegan(away: !isQuestion)
        return scans
    }

    /// One channel, one name, and the radio stays (Docs/contributor/loss-and-radios.md).
    private static let questionTime: Int64 = 30

    var isRadioFree: Bool { scan == nil && !isSearching }

    /// Whether a station has a link: then the radio goes back to its channel between two others.
    var hasLink: Bool { stations.contains { $0.link != nil } }

    /// Whether the radio keeps leaving the channel of its link.
    var isAwayFromChannel: Bool { hasLink && (isSearching || scan?.isAway ?? false) }

    /// It ends within 20 ms.
    /// - Returns: whether one was under way.
    @discardableResult
    mutating func abortScan() -> Bool {
        guard let end = scan?.end else { return false }
        scan?.isAborted = true
        scan?.end = min(end, now + 20)
        return true
    }

    /// Between two channels the radio returns to the channel of its link, for about twice as long (a full scan on a
    /// living link takes three times as long as without one). Nothing is asked of channels that the radio does not
    /// have.
    func scanTime(of frequencies: [Frequency]) -> Int64 {
        let radio = world.scenario.radio
        let channels = Int64(frequencies.isEmpty ? radio.channels : frequencies.count)
        let dwell = max(1, radio.dwell.milliseconds)
        let returns = hasLink ? 2 * max(0, channels - 1) : 0
        return max(1, (channels + returns) * dwell) + (frequencies.isEmpty && !hasLink ? 0 : 40)
    }

    mutating func end(_ scan: Scan) {
        countAll()
        self.scan = nil
        account.scanned(from: scan.since, to: now, isOnLink: scan.isOnLink)
        if !scan.isAborted { look(at: scan.frequencies, calling: scan.ssids) }
        report(.scanEnded(scan.number, isAborted: scan.isAborted))
        if scan.isAway { scanIsOver() }
        radioIsFree()
    }

    // MARK: What a scan does to a link

    /// mac80211 looks for no missing beacons while it scans, and counts none: what it would notice it notices later.
    mutating func scanBegan(away isAway: Bool) {
        if isAway { tellAccessPoints() }
        report(.scanBegan)
    }

    /// The kernel's watch over beacons begins anew.
    mutating func scanIsOver() {
        tellAccessPoints()
        for station in stations.indices where stations[station].link != nil {
            searchForLoss(from: now, of: station)
        }
    }

    // MARK: What is seen

    mutating func look(at frequencies: [Frequency], calling names: [SSID]) {
        for index in sights.indices {
            let track = world.tracks[index]
            guard frequencies.isEmpty || frequencies.contains(track.frequency) else { continue }
            let loss = world.loss(of: index, at: now)
            guard world.isLucky(.sighting, of: index, at: now, chance: sightChance * (1 - loss)) else { continue }
            let isCalled = !track.isHidden || names.contains(track.ssid)
            sights[index] = Sight(
                seen: now, signal: world.scannedSignal(of: index, at: now),
                hasName: isCalled || (remembered(index)?.hasName ?? false))
        }
    }

    /// The kernel remembers an access point for 30 s.
    private func remembered(_ accessPoint: Int) -> Sight? {
        sights[accessPoint].flatMap { $0.seen >= now - 30_000 ? $0 : nil }
    }

    /// Everything the kernel knows: also what the last scan did not see. The beacons of a link's own access point are
    /// heard all the time.
    mutating func scanResults() -> [BSS] {
        for link in stations.compactMap(\.link) where world.loss(of: link.accessPoint, at: now) < World.deafness {
            sights[link.accessPoint] = Sight(
                seen: now, signal: world.averagedSignal(of: link.accessPoint, at: now), hasName: true)
        }
        return sights.indices.compactMap { index in
            guard let sight = remembered(index) else { return nil }
            let track = world.tracks[index]
            return BSS(
                bssid: track.bssid, ssid: sight.hasName ? track.ssid : nil, frequency: track.frequency,
                signal: sight.signal, lastSeen: Instant(milliseconds: sight.seen),
                security: world.span(of: index, at: now).state.key == Keys.open ? .open : .wpa2)
        }
    }
}
