import AgentModel
import AppProtocol
import Failover
import KeyFile

// Security learned from joins, and reports about access points that offer less.
extension AgentCore {
    mutating func learn(_ facts: LinkFacts, by station: StationID, of network: StoredNetwork) {
        stations[station]?.protection = facts.protection
        if facts.security == .legacy || facts.usesTKIP {
            say(.warning, "\(network.ssid) uses WPA or TKIP and will not be joined again: \(Self.advice(.legacy))")
        } else if let security = facts.security {
            memory.journal.negotiated(security, in: network)
        }
        guard let bssid = facts.bssid, let id = book.id(of: network),
            policy.provenAccessPoints(of: id).contains(bssid)
        else { return }
        // The user's own minimum does not have to be learned.
        let protection = facts.protection.raised(by: stations[station]?.closedWays ?? []).subtracting(network.floor)
        changeFloor(of: id, network) { days, floor, now in days.linked(to: bssid, with: protection, &floor, at: now) }
    }

    /// Scans all channels once a day before the day counts, while the current link could raise the floor.
    mutating func reviewFloor() {
        guard let (id, network) = linkThatTeaches, memory.floors[id]?.isDue(at: now.instant) ?? false,
            !scans.isScanning, isInterfaceUp, !rescue.isOpen, switches.ledger.current == nil
        else { return }
        let floor = learnedFloor(of: network)
        guard memory.floors[id]?.looks(for: floor, at: now.instant) ?? false else { return }
        begin(.floor(id), ssids: [], frequencies: [])
    }

    /// - Parameter results: Results of a full scan.
    mutating func countDay(of id: NetworkID, _ results: [BSS]) {
        scanned(results)
        guard let (linked, network) = linkThatTeaches, linked == id else { return }
        changeFloor(of: id, network) { days, floor, now in days.count(&floor, at: now) }
    }

    private var linkThatTeaches: (NetworkID, StoredNetwork)? {
        guard case .online(let link) = policy.phase, let network = book[link.network],
            memory.floors[link.network]?.link?.bssid == link.accessPoint.bssid, state.holds(network)
        else { return nil }
        return (link.network, network)
    }

    /// Compares verified access points in a scan with the security floors of their networks.
    mutating func reviewFloors(by results: [BSS]) {
        for known in policy.networks {
            let verified = policy.provenAccessPoints(of: known.id)
            guard !verified.isEmpty, let network = book[known.id] else { continue }
            let offers = results.filter {
                verified.contains($0.bssid) && $0.ssid == known.ssid
                    && known.refusal(of: $0, requiring: network.floor) == nil
            }.map(\.protection)
            guard !offers.isEmpty else { continue }
            changeFloor(of: known.id, network) { days, floor, now in days.saw(offers, &floor, at: now) }
        }
    }

    private mutating func changeFloor(
        of id: NetworkID, _ network: StoredNetwork,
        _ change: (inout FloorDays, inout LearnedFloor, Instant) -> Void
    ) {
        guard state.learnsFloor(of: network) else { return }
        let before = learnedFloor(of: network)
        var floor = before
        change(&memory.floors[id, default: FloorDays()], &floor, now.instant)
        guard floor != before else { return }
        memory.journal.learned(floor, of: network)
        guard floor.protection != before.protection else { return }
        let isRaised = floor.protection.isSuperset(of: before.protection)
        let text =
            isRaised
            ? "\(network.ssid): access points without \(floor.protection) are no longer joined: "
                + "the links of \(LearnedFloor.days) days had it"
            : "\(network.ssid): access points without \(before.protection) are joined again: "
                + "none had it for \(LearnedFloor.days) days"
        say(isRaised ? .notice : .warning, text)
        let entry = notes.history.append(
            kind: Decision.Kind(rawValue: "floor"), reason: ReasonCode(rawValue: isRaised ? "raised" : "lapsed"),
            text: text, at: now)
        order(.publish(.decision(entry)))
        publishNetworks()
    }

    private func learnedFloor(of network: StoredNetwork) -> LearnedFloor {
        memory.journal.learnedFloor(of: network) ?? state.statistics[network.ssid]?.learnedFloor ?? LearnedFloor()
    }

    func floor(of id: NetworkID) -> LinkProtection {
        policy.networks.first { $0.id == id }?.floor ?? book[id]?.floor ?? []
    }

    /// Reports once per network that its access points are refused, until it is joined again.
    mutating func reportRefusals() {
        if let network = policy.phase.network, policy.phase.accessPoint != nil { notes.refused.remove(network) }
        notes.refused.formIntersection(policy.networks.map(\.id))
        let refusals = policy.refusals(at: now.instant)
        if !refusals.isEmpty { rescue.wish?.failed(at: now.instant) }
        for refusal in refusals where notes.refused.insert(refusal.network.id).inserted {
            say(.warning, "\(refusal.network.ssid), \(refusal.bss.bssid): \(Self.explanation(refusal))")
        }
    }

    package static func explanation(_ refusal: (network: KnownNetwork, bss: BSS, failure: JoinFailure)) -> String {
        let offer = refusal.bss.security.rawValue
        return switch refusal.failure {
        case .lessSecure where refusal.network.isEnterprise && refusal.bss.security != .enterprise:
            "not joined: it offers \(offer) under the name of an enterprise network"
        case .lessSecure where refusal.network.floor.isEmpty:
            "not joined: it offers \(offer) under the name of a network with a password"
        case .lessSecure:
            "not joined: it offers \(offer) without \(refusal.network.floor.subtracting(refusal.bss.protection)), "
                + "which this network requires: an evil twin, or a router that was reset; if the router is yours, send "
                + "the network's password again"
        default: "not joined: it offers \(offer); \(advice(refusal.bss.security))"
        }
    }

    static func advice(_ security: Security) -> String {
        switch security {
        case .legacy: "set the router to WPA3, or to WPA2 with AES (CCMP) alone"
        case .wep: "set the router to WPA3, or to WPA2 with AES"
        case .enterprise: "store it with 'altnet backups add --eap'"
        default: "set the router to WPA3 or WPA2 with a password"
        }
    }
}

// Detection of a silent access point.
extension AgentCore {
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
            // Ends the link, so that wpa_supplicant and the kernel know too. The policy handles it as a normal loss.
            guard isSupplicantAvailable, policy.phase.accessPoint == accessPoint else { return }
            say(.notice, "\(accessPoint.bssid) has fallen silent and does not answer: leaving it")
            current.isSilent = true
            leave(inUse)
        case .untold:
            guard current.countsBeacons else { return }
            say(.info, "\(inUse) counts no beacons and lost frames: watching received frames instead")
            current.countsBeacons = false
        }
    }

    /// Checks the access point with a scan of its own channel.
    mutating func ask(_ accessPoint: AccessPoint) {
        guard policy.phase.accessPoint == accessPoint, let frequency = accessPoint.frequency,
            let network = policy.phase.network.flatMap({ book[$0] })
        else { return asked(accessPoint, isThere: true) }
        if scans.isScanning {
            // Another program's scan is not aborted.
            guard surroundings.stations[inUse]?.isScanning == true else { return asked(accessPoint, isThere: true) }
            scans.urgent = accessPoint
            return order(.abortScan([inUse]))
        }
        say(.debug, "\(accessPoint.bssid) seems silent: checking with a scan")
        begin(
            .silence(accessPoint, since: now.instant), ssids: [network.ssid], frequencies: [frequency])
    }

    mutating func asked(_ accessPoint: AccessPoint, isThere: Bool) {
        if isThere { say(.debug, "\(accessPoint.bssid) answered, or could not be checked") }
        order(.beaconsAnswered(isThere: isThere))
    }
}
