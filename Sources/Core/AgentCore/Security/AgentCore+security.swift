import AgentModel
import AppProtocol
import Failover
import KeyFile

// Learns the security of networks from joins, and reports access points that offer less.
extension AgentCore {
    mutating func learn(_ facts: LinkFacts, by station: StationID, of network: StoredNetwork) {
        stations[station]?.protection = facts.protection
        if facts.security == .legacy || facts.usesTKIP {
            if network.options.allowsTKIP {
                log(.notice, "\(network.ssid) uses WPA or TKIP, which its owner allows")
            } else {
                log(.warning, "\(network.ssid) uses WPA or TKIP and will not be joined again: \(Self.advice(.legacy))")
            }
        } else if let security = facts.security {
            learned.pendingStatistics.negotiated(security, in: network)
        }
        guard let bssid = facts.bssid, let id = registry.id(of: network),
            policy.verifiedAccessPoints(of: id).contains(bssid)
        else { return }
        // The user's own minimum does not have to be learned.
        let protection = facts.protection.raised(by: stations[station]?.closedWays ?? []).subtracting(
            network.minimumSecurity)
        changeMinimumSecurity(of: id, network) { days, minimumSecurity, now in
            days.linked(to: bssid, with: protection, &minimumSecurity, at: now)
        }
    }

    /// Scans all channels once a day while the current link could raise the security floor. The day counts after the
    /// scan.
    mutating func reviewMinimumSecurity() {
        guard let (id, network) = linkThatTeaches, learned.minimumSecurityDays[id]?.isDue(at: now.instant) ?? false,
            !scans.isScanning, isInterfaceUp, !setupAccessPoint.isOpen, switches.ledger.current == nil
        else { return }
        let minimumSecurity = learnedMinimumSecurity(of: network)
        guard learned.minimumSecurityDays[id]?.looks(for: minimumSecurity, at: now.instant) ?? false else { return }
        beginScan(.minimumSecurity(id), ssids: [], frequencies: [])
    }

    /// - Parameter results: Results of a full scan.
    mutating func countDay(of id: NetworkID, _ results: [BSS]) {
        scanned(results)
        guard let (linked, network) = linkThatTeaches, linked == id else { return }
        changeMinimumSecurity(of: id, network) { days, minimumSecurity, now in days.count(&minimumSecurity, at: now) }
    }

    private var linkThatTeaches: (NetworkID, StoredNetwork)? {
        guard case .online(let link) = policy.phase, let network = registry[link.network],
            learned.minimumSecurityDays[link.network]?.link?.bssid == link.accessPoint.bssid, state.holds(network)
        else { return nil }
        return (link.network, network)
    }

    /// Compares verified access points in a scan with the security floors of their networks.
    mutating func reviewMinimumSecurity(by results: [BSS]) {
        for known in policy.networks {
            let verified = policy.verifiedAccessPoints(of: known.id)
            guard !verified.isEmpty, let network = registry[known.id] else { continue }
            let offers = results.filter {
                verified.contains($0.bssid) && $0.ssid == known.ssid
                    && known.refusal(of: $0, requiring: network.minimumSecurity) == nil
            }.map(\.protection)
            guard !offers.isEmpty else { continue }
            changeMinimumSecurity(of: known.id, network) { days, minimumSecurity, now in
                days.saw(offers, &minimumSecurity, at: now)
            }
        }
    }

    private mutating func changeMinimumSecurity(
        of id: NetworkID, _ network: StoredNetwork,
        _ change: (inout MinimumSecurityDays, inout LearnedMinimumSecurity, Instant) -> Void
    ) {
        guard state.learnsMinimumSecurity(of: network) else { return }
        let before = learnedMinimumSecurity(of: network)
        var minimumSecurity = before
        change(&learned.minimumSecurityDays[id, default: MinimumSecurityDays()], &minimumSecurity, now.instant)
        guard minimumSecurity != before else { return }
        learned.pendingStatistics.learned(minimumSecurity, of: network)
        guard minimumSecurity.protection != before.protection else { return }
        let isRaised = minimumSecurity.protection.isSuperset(of: before.protection)
        let text =
            isRaised
            ? "\(network.ssid): access points without \(minimumSecurity.protection) are no longer joined: "
                + "links on \(LearnedMinimumSecurity.days) days had it"
            : "\(network.ssid): access points without \(before.protection) are joined again: "
                + "no access point has offered it for \(LearnedMinimumSecurity.days) days"
        log(isRaised ? .notice : .warning, text)
        let entry = lastPublished.history.append(
            kind: Decision.Kind(rawValue: "floor"), reason: ReasonCode(rawValue: isRaised ? "raised" : "lapsed"),
            text: text, at: now)
        emit(.publish(.decision(entry)))
        publishNetworks()
    }

    private func learnedMinimumSecurity(of network: StoredNetwork) -> LearnedMinimumSecurity {
        learned.pendingStatistics.learnedMinimumSecurity(of: network) ?? state.statistics[network.ssid]?
            .learnedMinimumSecurity ?? LearnedMinimumSecurity()
    }

    func minimumSecurity(of id: NetworkID) -> LinkProtection {
        policy.networks.first { $0.id == id }?.minimumSecurity ?? registry[id]?.minimumSecurity ?? []
    }

    /// Reports once per network that its access points are refused, until it is joined again.
    mutating func reportRefusals() {
        if let network = policy.phase.network, policy.phase.accessPoint != nil { lastPublished.refused.remove(network) }
        lastPublished.refused.formIntersection(policy.networks.map(\.id))
        let refusals = policy.refusals(at: now.instant)
        if !refusals.isEmpty { setupAccessPoint.wish?.failed(at: now.instant) }
        for refusal in refusals where lastPublished.refused.insert(refusal.network.id).inserted {
            log(.warning, "\(refusal.network.ssid), \(refusal.bss.bssid): \(Self.explanation(refusal))")
        }
    }

    package static func explanation(_ refusal: (network: KnownNetwork, bss: BSS, failure: JoinFailure)) -> String {
        let offer = refusal.bss.security.rawValue
        return switch refusal.failure {
        case .lessSecure where refusal.network.isEnterprise && refusal.bss.security != .enterprise:
            "not joined: it offers \(offer) under the name of an enterprise network"
        case .lessSecure where refusal.network.minimumSecurity.isEmpty:
            "not joined: it offers \(offer) under the name of a network with a password"
        case .lessSecure:
            "not joined: it offers \(offer) without \(refusal.network.minimumSecurity.subtracting(refusal.bss.protection)), "
                + "which this network requires: an evil twin, or a router that was reset; if the router is yours, send "
                + "the network's password again"
        default: "not joined: it offers \(offer); \(advice(refusal.bss.security))"
        }
    }

    static func advice(_ security: Security) -> String {
        switch security {
        case .legacy:
            "set the router to WPA3, or to WPA2 with AES (CCMP) alone; if it cannot, send the network's password again "
                + "with 'altnet switch --new --allow-tkip'"
        case .wep: "set the router to WPA3, or to WPA2 with AES"
        case .enterprise: "store it with 'altnet backups add --eap'"
        default: "set the router to WPA3 or WPA2 with a password"
        }
    }
}
