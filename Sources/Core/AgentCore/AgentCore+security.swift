import AgentModel
import AppProtocol
import Failover
import KeyFile

// A network's security, as joins show it, and messages about access points that offer less.
extension AgentCore {
    /// Takes what a link has as the least that a link to this network must have, at once in memory and later on the
    /// disk.
    /// - Parameter closed: which weaker ways in its access points have said are closed.
    mutating func learn(_ facts: LinkFacts, closed: TransitionDisable, of network: StoredNetwork) {
        if facts.security == .legacy || facts.usesTKIP {
            say(.warning, "\(network.ssid) has WPA or TKIP, and will not be joined again: \(Self.advice(.legacy))")
        }
        let protection = facts.protection.raised(by: closed)
        memory.journal.negotiated(protection, facts.security == .legacy ? nil : facts.security, in: network)
        guard !network.floor.isSuperset(of: protection) else { return }
        say(.notice, "\(network.ssid) has \(protection): with less it is not joined from now on")
        publishNetworks()
    }

    /// Says once of each network that what bears its name is refused, until the network itself is joined again.
    mutating func reportRefusals() {
        if let network = policy.phase.network, policy.phase.accessPoint != nil { notes.refused.remove(network) }
        notes.refused.formIntersection(policy.networks.map(\.id))
        for refusal in policy.refusals(at: now.instant) where notes.refused.insert(refusal.network.id).inserted {
            say(.warning, "\(refusal.network.ssid), \(refusal.bss.bssid): \(Self.explanation(refusal))")
        }
    }

    /// Why an access point is not joined, and what to do about it.
    package static func explanation(_ refusal: (network: KnownNetwork, bss: BSS, failure: JoinFailure)) -> String {
        let offer = refusal.bss.security.rawValue
        return switch refusal.failure {
        case .lessSecure where refusal.network.isEnterprise && refusal.bss.security != .enterprise:
            "it offers \(offer) under the name of an enterprise network, so it is not joined"
        case .lessSecure where refusal.network.floor.isEmpty:
            "it offers \(offer) under the name of a network with a password, so it is not joined"
        case .lessSecure:
            "it offers \(offer) without \(refusal.network.floor.subtracting(refusal.bss.protection)), which this network "
                + "has had, so it is not joined: a twin, or a router that was reset; if the router is yours, send the "
                + "network's password again"
        default: "it offers \(offer), so it is not joined: \(advice(refusal.bss.security))"
        }
    }

    /// Advice about an access point whose security is refused.
    static func advice(_ security: Security) -> String {
        switch security {
        case .legacy: "set the router to WPA3, or to WPA2 with AES (CCMP) alone"
        case .wep: "set the router to WPA3, or to WPA2 with AES"
        case .enterprise: "it asks for a user: store it with 'altnet backups add --eap'"
        default: "set the router to WPA3 or WPA2 with a password"
        }
    }
}

// An access point that falls silent while the device is in use, or the radio scans.
extension AgentCore {
    /// Watches the access point of the link in use, or none.
    mutating func watchBeacons(_ isLinked: Bool) {
        guard isLinked, settings.watchesSilence, let accessPoint = policy.phase.accessPoint
        else {
            notes.beacons = nil
            return order(.watchBeacons(inUse, nil))
        }
        guard notes.beacons?.station != inUse || notes.beacons?.bssid != accessPoint.bssid else { return }
        current.isSilent = false
        notes.beacons = (inUse, accessPoint.bssid)
        order(.watchBeacons(inUse, accessPoint))
        order(.beaconsDuringScan(scans.isScanning))
    }

    mutating func observe(_ report: SilenceReport, of accessPoint: AccessPoint) {
        switch report {
        case .suspected: ask(accessPoint)
        case .confirmed:
            // The link is ended: then wpa_supplicant and the kernel know as well, and the policy hears of it as of any
            // other loss.
            guard isSupplicantAvailable, policy.phase.accessPoint == accessPoint else { return }
            say(.notice, "\(accessPoint.bssid) has fallen silent, and does not answer")
            current.isSilent = true
            leave(inUse)
        case .untold:
            guard current.countsBeacons else { return }
            say(.info, "\(inUse) does not count beacons and lost frames: its access point is watched by what it sends")
            current.countsBeacons = false
        }
    }

    /// Asks the access point whether it is there, by a scan of its own channel, which the radio does not leave for
    /// that.
    mutating func ask(_ accessPoint: AccessPoint) {
        guard policy.phase.accessPoint == accessPoint, let frequency = accessPoint.frequency,
            let network = policy.phase.network.flatMap({ book[$0] })
        else { return asked(accessPoint, isThere: true) }
        if scans.isScanning {
            // Another program's scan is not ended.
            guard surroundings.stations[inUse]?.isScanning == true else { return asked(accessPoint, isThere: true) }
            scans.urgent = accessPoint
            return order(.abortScan([inUse]))
        }
        say(.debug, "\(accessPoint.bssid) seems silent: is it there?")
        begin(
            .silence(accessPoint, since: now.instant), ssids: [network.ssid], frequencies: [frequency])
    }

    mutating func asked(_ accessPoint: AccessPoint, isThere: Bool) {
        if isThere { say(.debug, "\(accessPoint.bssid) is there, or could not be asked") }
        order(.beaconsAnswered(isThere: isThere))
    }
}
