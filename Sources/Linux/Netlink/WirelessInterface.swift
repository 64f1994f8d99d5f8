import AgentModel

/// One interface of a radio (`NL80211_CMD_GET_INTERFACE`).
public struct WirelessInterface: Hashable, Sendable {
    public let index: Int
    public let name: String
    /// The number of the radio it belongs to.
    public let phy: Int
    /// Whether it is a client of access points ("managed"), the only kind that altnet uses.
    public let isStation: Bool
    public let address: BSSID?
    /// The network it is in, as far as the kernel says.
    public let ssid: SSID?
    public let frequency: Frequency?
}

/// The access point that the interface is associated with.
public struct AssociatedBSS: Hashable, Sendable {
    public let bssid: BSSID
    /// Nil where the access point hides its name and the kernel does not say it either.
    public let ssid: SSID?
    public let frequency: Frequency
}
