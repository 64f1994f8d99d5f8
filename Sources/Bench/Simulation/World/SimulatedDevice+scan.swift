import AgentModel

extension SimulatedDevice {
    struct Scan {
        let number: Int
        let frequencies: [Frequency]
        let ssids: [SSID]
        let since: Int64
        var end: Int64
        let isOnLink: Bool
        let isAway: Bool
        var isAborted = false
    }

    struct Sight {
        var seen: Int64
        /// Signal in dBm.
        var signal: Int
        var hasName: Bool
    }

    /// Starts a scan.
    /// - Parameter isQuestion: whether the scan covers only the link's channel, so that the radio stays on it.
    /// - Returns: the scan's number; nil if another scan runs.
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

    /// Milliseconds of a scan of the link's channel for one SSID (Docs/contributor/loss-and-radios.md).
    private static let questionTime: Int64 = 30

    var isRadioFree: Bool { scan == nil && !isSearching }

    /// Whether any station has a link. A scan then returns to the link's channel in between.
    var hasLink: Bool { stations.contains { $0.link != nil } }

    /// Whether a scan keeps the radio off the channel of its link.
    var isAwayFromChannel: Bool { hasLink && (isSearching || scan?.isAway ?? false) }

    /// Aborts a running scan. It ends within 20 ms.
    mutating func abortScan() {
        guard let end = scan?.end else { return }
        scan?.isAborted = true
        scan?.end = min(end, now + 20)
    }

    /// Returns the duration of a scan in milliseconds. With a link, the radio returns to the link's channel for two
    /// dwells after each other channel. A full scan then takes three times as long. The radio must support all channels
    /// in `frequencies`.
    func scanTime(of frequencies: [Frequency]) -> Int64 {
        let radio = world.scenario.radio
        let channels = Int64(frequencies.isEmpty ? radio.channels : frequencies.count)
        let dwell = max(1, radio.dwell.milliseconds)
        let returns = hasLink ? 2 * max(0, channels - 1) : 0
        return max(1, (channels + returns) * dwell) + (frequencies.isEmpty && !hasLink ? 0 : 40)
    }

    mutating func endScan(_ scan: Scan) {
        countAll()
        self.scan = nil
        account.scanned(from: scan.since, to: now, isOnLink: scan.isOnLink)
        if !scan.isAborted { look(at: scan.frequencies, calling: scan.ssids) }
        report(.scanEnded(scan.number, isAborted: scan.isAborted))
        if scan.isAway { scanIsOver() }
        radioIsFree()
    }

    // MARK: Effects on links

    /// Notifies access points if the radio leaves the channel, and reports the start of the scan.
    mutating func scanBegan(away isAway: Bool) {
        if isAway { notifyAccessPoints() }
        report(.scanBegan)
    }

    mutating func scanIsOver() {
        notifyAccessPoints()
        for station in stations.indices where stations[station].link != nil {
            searchForLoss(from: now, of: station)
        }
    }

    // MARK: Results

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

    /// Returns the kernel's scan entry of an access point. An entry expires after 30 s.
    private func remembered(_ accessPoint: Int) -> Sight? {
        sights[accessPoint].flatMap { $0.seen >= now - 30_000 ? $0 : nil }
    }

    /// Returns all scan entries of the kernel, including access points that the last scan missed. Beacons keep the
    /// entry of a link's access point current.
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
