import AgentModel
import Failover

// The radio's scans, and what the kernel remembers of them.
extension SimulatedDevice {
    struct Scan {
        let order: ScanOrder
        let since: Int64
        var end: Int64
        let isOnLink: Bool
        var isAborted = false
    }

    /// What the kernel knows of an access point.
    struct Sight {
        var seen: Int64
        /// In dBm.
        var signal: Int
        var hasName: Bool
    }

    mutating func begin(_ order: ScanOrder) {
        guard isRadioFree else {
            deferredScan = order
            return
        }
        scan = Scan(order: order, since: now, end: now + scanTime(of: order.frequencies), isOnLink: link != nil)
    }

    private var isRadioFree: Bool {
        if case .searching = join?.step { return false }
        return scan == nil
    }

    mutating func startDeferredScan() {
        guard isRadioFree, let order = deferredScan else { return }
        deferredScan = nil
        begin(order)
    }

    mutating func cancelScan() {
        if let order = deferredScan {
            deferredScan = nil
            tell(.scanFailed(id: order.id))
        }
        guard let end = scan?.end else { return }
        scan?.isAborted = true
        scan?.end = min(end, now + 20)
    }

    /// Between two channels the radio returns to the channel of its link, for about twice as long (a full scan on a
    /// living link takes three times as long as without one). Nothing is asked of channels that the radio does not
    /// have.
    func scanTime(of frequencies: [Frequency]) -> Int64 {
        let radio = world.scenario.radio
        let channels = Int64(frequencies.isEmpty ? radio.channels : frequencies.count)
        let dwell = max(1, radio.dwell.milliseconds)
        let returns = link == nil ? 0 : 2 * max(0, channels - 1)
        return max(1, (channels + returns) * dwell) + (frequencies.isEmpty && link == nil ? 0 : 40)
    }

    mutating func end(_ scan: Scan) {
        self.scan = nil
        account.scanned(from: scan.since, to: now, isOnLink: scan.isOnLink)
        if scan.isAborted {
            tell(.scanFailed(id: scan.order.id))
        } else {
            look(at: scan.order.frequencies, calling: scan.order.ssids)
            tell(.scanned(id: scan.order.id, scanResults()))
        }
        if case .waitingForRadio = join?.step { proceed() }
        startDeferredScan()
    }

    /// "One active scan does not always show every network."
    private static let sightChance = 0.97

    mutating func look(at frequencies: [Frequency], calling names: [SSID]) {
        for index in sights.indices {
            let track = world.tracks[index]
            guard frequencies.isEmpty || frequencies.contains(track.frequency) else { continue }
            let loss = world.loss(of: index, at: now)
            guard world.isLucky(.sighting, of: index, at: now, chance: Self.sightChance * (1 - loss)) else { continue }
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

    /// Everything the kernel knows: also what this scan did not see. The beacons of the link's own access point are
    /// heard all the time.
    mutating func scanResults() -> [BSS] {
        if let link, world.loss(of: link.accessPoint, at: now) < World.deafness {
            sights[link.accessPoint] = Sight(
                seen: now, signal: world.averagedSignal(of: link.accessPoint, at: now), hasName: true)
        }
        var results: [BSS] = []
        for index in sights.indices {
            guard let sight = remembered(index) else { continue }
            let track = world.tracks[index]
            if sight.hasName, let network = track.network { book.note(track.frequency, of: network) }
            results.append(
                BSS(
                    bssid: track.bssid, ssid: sight.hasName ? track.ssid : nil, frequency: track.frequency,
                    signal: sight.signal, lastSeen: Instant(milliseconds: sight.seen),
                    security: world.span(of: index, at: now).state.key == Keys.open ? .open : .wpa2))
        }
        return results
    }
}
