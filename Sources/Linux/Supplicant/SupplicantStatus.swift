import AgentModel

/// The state of wpa_supplicant, as its `STATUS` command tells it.
public struct SupplicantStatus: Sendable, Equatable {
    public let state: State
    /// wpa_supplicant's number of the network in use, where there is one.
    public let networkID: Int?
    public let ssid: SSID?
    public let bssid: BSSID?
    public let frequency: Frequency?
    /// The key management in use as wpa_supplicant names it: `NONE`, `WPA2-PSK`, `SAE`, `OWE` and so on.
    public let keyManagement: String?
    /// The protection of the link: as negotiated, and confirmed by the handshake.
    public let protection: LinkProtection
    /// Whether frames of the link are encrypted with TKIP, this station's or those for all.
    public let usesTKIP: Bool

    /// How the access point has authenticated this station; nil where there is no link, or it is none of these.
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
        /// Anything this version does not know.
        case unknown = "UNKNOWN"
    }
}

extension SupplicantStatus {
    /// Reads the answer to `STATUS`: lines of `key=value`, of which any may be missing.
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

    /// Names as in hostap, wpa_key_mgmt_txt. `pmf` is there where the link has it: 1 if the access point does not
    /// insist, 2 if it does (wpa_sm_get_status).
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

    /// The access point of the link that is up.
    var link: BSSID? { state == .completed ? bssid : nil }
}
