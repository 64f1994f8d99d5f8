import AgentModel
import Failover
import Netlink

// An access point that falls silent while the device is in use, or the radio scans.
extension DeviceAgent {
    /// Watches the access point of the link in use, or none.
    func watchBeacons(_ isLinked: Bool) {
        guard isLinked, settings.silentBeacons > 0, station.countsBeacons, let accessPoint = policy.phase.accessPoint
        else {
            beacons = nil
            return
        }
        guard beacons?.radio !== radio || beacons?.accessPoint != accessPoint.bssid else { return }
        station.isSilent = false
        beacons = BeaconWatcher(
            beacons: settings.silentBeacons, of: accessPoint.bssid, radio: radio
        ) { [weak self] event in self?.observe(event, of: accessPoint) }
        beacons?.scan(isUnderWay: scans.isScanning)
    }

    private func observe(_ event: BeaconWatcher.Event, of accessPoint: AccessPoint) {
        switch event {
        case .suspected: ask(accessPoint)
        case .confirmed: accessPointIsGone(accessPoint)
        case .untold:
            log.info("\(station.interface) does not count beacons and lost frames: only the kernel notices lost links")
            station.countsBeacons = false
        }
    }

    /// Asks the access point whether it is there, by a scan of its own channel, which the radio does not leave for that.
    private func ask(_ accessPoint: AccessPoint) {
        guard policy.phase.accessPoint == accessPoint, let frequency = accessPoint.frequency,
            let network = policy.phase.network.flatMap({ book[$0] })
        else { return asked(accessPoint, isThere: true) }
        // Another program's scan is not ended.
        if endScan(for: { [weak self] in self?.ask(accessPoint) }) { return }
        guard !scans.isScanning else { return asked(accessPoint, isThere: true) }
        log.debug("\(accessPoint.bssid) seems silent: is it there?")
        let start = Instant.now
        run(Netlink.ScanRequest(ssids: [network.ssid], asksEverybody: false, frequencies: [frequency])) {
            [weak self] end in
            guard case .finished(let results) = end else { return self?.asked(accessPoint, isThere: true) ?? () }
            let sight = results.first { $0.bssid == accessPoint.bssid }
            self?.asked(accessPoint, isThere: sight.map { $0.lastSeen >= start } ?? false)
        }
    }

    private func asked(_ accessPoint: AccessPoint, isThere: Bool) {
        if isThere { log.debug("\(accessPoint.bssid) is there, or could not be asked") }
        beacons?.asked(isThere: isThere)
    }

    /// Ends the link: then wpa_supplicant and the kernel know as well, and the policy hears of it as of any other loss.
    private func accessPointIsGone(_ accessPoint: AccessPoint) {
        guard isSupplicantAvailable, policy.phase.accessPoint == accessPoint else { return }
        log.notice("\(accessPoint.bssid) has fallen silent, and does not answer")
        station.isSilent = true
        leave(station)
    }
}
