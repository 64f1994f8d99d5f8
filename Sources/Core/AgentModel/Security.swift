/// How a network authenticates its stations, read from the RSN and WPA elements of its beacons.
public enum Security: String, Sendable, CaseIterable {
    /// No authentication and no encryption.
    case open
    /// Opportunistic wireless encryption: encrypted, nobody authenticated (RFC 8110).
    case owe
    /// A pre-shared key with the 4-way handshake only (AKM PSK, PSK-SHA256, FT-PSK).
    case wpa2 = "wpa2-psk"
    /// Simultaneous authentication of equals only.
    case wpa3 = "wpa3-sae"
    /// Both PSK and SAE are offered.
    case wpa2wpa3 = "wpa2-wpa3"
    /// IEEE 802.1X.
    case enterprise
    /// Wired equivalent privacy: broken, and never joined.
    case wep
    /// WPA of the first generation, or TKIP for single stations or for the group: broken, and never joined.
    case legacy = "wpa-tkip"
    /// Only ciphers or key management that altnet does not know.
    case unknown

    /// Whether a network with a passphrase joins this.
    public var usesPassphrase: Bool { self == .wpa2 || self == .wpa3 || self == .wpa2wpa3 }

    /// Whether a network stored without a passphrase joins this.
    public var isOpenToAll: Bool { self == .open || self == .owe }
}
