import AgentModel

/// What wpa_supplicant is doing, as its `STATUS` command tells it.
public struct SupplicantStatus: Sendable, Equatable {
    public let state: State
    /// wpa_supplicant's number of the network in use, where there is one.
    public let networkID: Int?
    public let ssid: SSID?
    public let bssid: BSSID?
    public let frequency: Frequency?
    /// The key management in use as wpa_supplicant names it: `NONE`, `WPA2-PSK`, `SAE`, `OWE` and so on.
    public let keyManagement: String?
    /// What protects the link: what was negotiated, and confirmed by the handshake.
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
        case "WPA-PSK": .legacy
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
