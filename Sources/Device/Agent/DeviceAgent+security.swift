import AgentModel
import AppProtocol
import Failover
import KeyFile
import Supplicant

// What joins show of a network's security, and what the agent says of access points that offer less.
extension DeviceAgent {
    /// A link to a network has just been made: asks wpa_supplicant what was negotiated.
    func learnProtection(of network: StoredNetwork, _ bssid: BSSID, _ station: Station) {
        Task {
            guard let status = try? await station.supplicant.status(), status.state == .completed,
                status.ssid == network.ssid, status.bssid == bssid
            else { return }
            learn(status, of: network, with: station)
        }
    }

    /// Takes what a link has as the least that a link to this network must have, at once in memory and later on the disk.
    func learn(_ status: SupplicantStatus, of network: StoredNetwork, with station: Station) {
        if status.security == .legacy || status.usesTKIP {
            log.warning("\(network.ssid) has WPA or TKIP, and will not be joined again: \(Self.advice(.legacy))")
        }
        let protection = status.protection.raised(by: station.closedWays)
        journal.negotiated(protection, status.security == .legacy ? nil : status.security, in: network)
        guard !network.floor.isSuperset(of: protection) else { return }
        log.notice("\(network.ssid) has \(protection): with less it is not joined from now on")
        publishNetworks()
    }

    /// The access point says which weaker ways in are closed, during the join or when the keys of a link are renewed.
    func closed(_ ways: TransitionDisable, to station: Station) {
        station.closedWays.formUnion(ways)
        guard station === self.station, case .online(let link) = policy.phase, let network = book[link.network] else {
            return
        }
        learnProtection(of: network, link.accessPoint.bssid, station)
    }

    /// Says once of each network that what bears its name is refused, until the network itself is joined again.
    func reportRefusals() {
        if let network = policy.phase.network, policy.phase.accessPoint != nil { refused.remove(network) }
        refused.formIntersection(policy.networks.map(\.id))
        for refusal in policy.refusals(at: .now) where refused.insert(refusal.network.id).inserted {
            log.warning("\(refusal.network.ssid), \(refusal.bss.bssid): \(Self.explanation(refusal))")
        }
    }

    /// Why an access point is not joined, and what to do about it.
    static func explanation(_ refusal: (network: KnownNetwork, bss: BSS, failure: JoinFailure)) -> String {
        let offer = refusal.bss.security.rawValue
        return switch refusal.failure {
        case .lessSecure where refusal.network.floor.isEmpty:
            "it offers \(offer) under the name of a network with a password, so it is not joined"
        case .lessSecure:
            "it offers \(offer) without \(refusal.network.floor.subtracting(refusal.bss.protection)), which this network "
                + "has had, so it is not joined: a twin, or a router that was reset; if the router is yours, send the "
                + "network's password again"
        default: "it offers \(offer), so it is not joined: \(advice(refusal.bss.security))"
        }
    }

    /// What to do about an access point whose security is refused.
    static func advice(_ security: Security) -> String {
        switch security {
        case .legacy: "set the router to WPA3, or to WPA2 with AES (CCMP) alone"
        case .wep: "set the router to WPA3, or to WPA2 with AES"
        default: "set the router to WPA3 or WPA2 with a password"
        }
    }
}
