import AgentModel

/// State of wpa_supplicant, from its `STATUS` command.
public struct SupplicantStatus: Sendable, Equatable {
    public let state: State
    /// wpa_supplicant's number of the network in use.
    public let networkID: Int?
    public let ssid: SSID?
    public let bssid: BSSID?
    public let frequency: Frequency?
    /// Key management in use, as wpa_supplicant names it: `NONE`, `WPA2-PSK`, `SAE`, `OWE` and so on.
    public let keyManagement: String?
    /// Negotiated protection of the link; empty without one.
    public let protection: LinkProtection
    /// True if unicast or broadcast frames use TKIP.
    public let usesTKIP: Bool

    /// Authentication method of the link; nil without a link or for other methods.
    public var security: Security? {
        guard state == .completed else { return nil }
        if protection.contains(.sae) { return .wpa3 }
        if protection.contains(.owe) { return .owe }
        return switch keyManagement {
        case "NONE": .open
        case "WPA2-PSK", "WPA2-PSK-SHA256", "FT-PSK": .wpa2
        case "WPA2/IEEE 802.1X/EAP", "WPA2-EAP-SHA256": .enterprise
        case "WPA-PSK", "WPA/IEEE 802.1X/EAP": .legacy
        default: nil
        }
    }

    /// wpa_supplicant's connection states (hostap, `enum wpa_states`).
    public enum State: String, Sendable, CaseIterable {
        case disconnected = "DISCONNECTED"
        case interfaceDisabled = "INTERFACE_DISABLED"
        case inactive = "INACTIVE"
        case scanning = "SCANNING"
        case authenticating = "AUTHENTICATING"
        case associating = "ASSOCIATING"
        case associated = "ASSOCIATED"
        case fourWayHandshake = "4WAY_HANDSHAKE"
        case groupHandshake = "GROUP_HANDSHAKE"
        case completed = "COMPLETED"
        case unknown = "UNKNOWN"
    }
}

extension SupplicantStatus {
    /// Parses the answer to `STATUS`: lines of `key=value`, each of which may be missing.
    init(_ text: String) {
        var fields: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            guard let separator = line.firstIndex(of: "=") else { continue }
            fields[line[..<separator]] = line[line.index(after: separator)...]
        }
        state = fields["wpa_state"].flatMap { State(rawValue: String($0)) } ?? .unknown
        networkID = fields["id"].flatMap { Int($0) }
        ssid = fields["ssid"].flatMap { try? SSID(bytes: SSID.bytes(printedBySupplicant: $0)) }
        bssid = fields["bssid"].flatMap { BSSID($0) }
        frequency = fields["freq"].flatMap { Int($0) }.map { Frequency(megahertz: $0) }
        keyManagement = fields["key_mgmt"].map { PrintableLine.of($0) }
        usesTKIP = [fields["pairwise_cipher"], fields["group_cipher"]].contains("TKIP")
        protection = state == .completed ? Self.protection(fields) : []
    }

    /// Returns the link's protection. `key_mgmt` has the names of hostap's wpa_key_mgmt_txt. `pmf` is 1 if management
    /// frame protection is optional, 2 if the access point requires it (wpa_sm_get_status).
    private static func protection(_ fields: [Substring: Substring]) -> LinkProtection {
        var protection: LinkProtection = []
        switch fields["key_mgmt"] {
        case "SAE", "FT-SAE", "SAE-EXT-KEY", "FT-SAE-EXT-KEY": protection.insert(.sae)
        case "OWE": protection.insert(.owe)
        default: break
        }
        if let pmf = fields["pmf"].flatMap({ Int($0) }), pmf > 0 { protection.insert(.pmf) }
        return protection
    }

    var link: BSSID? { state == .completed ? bssid : nil }
}
