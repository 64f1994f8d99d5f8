import Failover

// Detection of a silent access point.
extension AgentCore {
    mutating func watchBeacons(_ isLinked: Bool) {
        guard isLinked, settings.watchesSilence, let accessPoint = policy.phase.accessPoint
        else {
            lastPublished.beacons = nil
            return emit(.watchBeacons(inUse, nil))
        }
        guard lastPublished.beacons?.station != inUse || lastPublished.beacons?.bssid != accessPoint.bssid else {
            return
        }
        current.isSilent = false
        lastPublished.beacons = (inUse, accessPoint.bssid)
        emit(.watchBeacons(inUse, accessPoint))
        emit(.beaconsDuringScan(scans.isScanning))
    }

    mutating func handle(_ report: SilenceReport, of accessPoint: AccessPoint) {
        switch report {
        case .suspected: askAccessPoint(accessPoint)
        case .confirmed:
            // End the link in wpa_supplicant and the kernel too. The policy handles this as a normal loss.
            guard isSupplicantAvailable, policy.phase.accessPoint == accessPoint else { return }
            log(.notice, "\(accessPoint.bssid) has fallen silent and does not answer: leaving it")
            current.isSilent = true
            leave(inUse)
        case .unknown:
            guard current.countsBeacons else { return }
            log(.info, "\(inUse) does not count beacons and lost frames: watching received frames instead")
            current.countsBeacons = false
        }
    }

    /// Checks the access point with a scan of its channel.
    mutating func askAccessPoint(_ accessPoint: AccessPoint) {
        guard policy.phase.accessPoint == accessPoint, let frequency = accessPoint.frequency,
            let network = policy.phase.network.flatMap({ registry[$0] })
        else { return asked(accessPoint, isThere: true) }
        if scans.isScanning {
            // Do not abort a scan of another program.
            guard kernel.stations[inUse]?.isScanning == true else { return asked(accessPoint, isThere: true) }
            scans.urgent = accessPoint
            return emit(.abortScan([inUse]))
        }
        log(.debug, "\(accessPoint.bssid) seems silent: checking with a scan")
        beginScan(
            .silence(accessPoint, since: now.instant), ssids: [network.ssid], frequencies: [frequency])
    }

    mutating func asked(_ accessPoint: AccessPoint, isThere: Bool) {
        if isThere { log(.debug, "\(accessPoint.bssid) answered, or could not be checked") }
        emit(.beaconsAnswered(isThere: isThere))
    }
}
