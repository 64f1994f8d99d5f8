import AgentModel

/// A network that wpa_supplicant is told of when it starts, to choose by itself.
public struct KnownNetwork: Sendable {
    public let ssid: SSID
    public let security: NetworkSecurity
    /// The higher one is preferred.
    public let priority: Int
    public let hidden: Bool

    public init(_ ssid: SSID, security: NetworkSecurity, priority: Int = 0, hidden: Bool = false) {
        self.ssid = ssid
        self.security = security
        self.priority = priority
        self.hidden = hidden
    }

    /// The network block of wpa_supplicant.conf.
    var supplicantBlock: String {
        let authentication =
            switch security {
            case .open: "key_mgmt=NONE"
            case .wpa2(let password): "key_mgmt=WPA-PSK\n psk=\"\(password)\""
            case .wpa3(let password): "key_mgmt=SAE\n ieee80211w=2\n sae_password=\"\(password)\""
            case .transition(let password): "key_mgmt=WPA-PSK SAE\n ieee80211w=1\n psk=\"\(password)\""
            }
        return """
            network={
             ssid=\(ssid.hex)
             scan_ssid=\(hidden ? 1 : 0)
             priority=\(priority)
             \(authentication)
            }

            """
    }
}
