import AgentModel
import CNetlink

extension WirelessInterface {
    /// Reads one message of an interface dump. Nil for what has no network interface, such as a P2P device.
    init?(_ message: NetlinkMessage) {
        let attributes = message.nl80211Attributes
        guard let index = attributes[NL80211_ATTR_IFINDEX]?.count(as: UInt32.self),
            let name = attributes[NL80211_ATTR_IFNAME]?.string,
            let phy = attributes[NL80211_ATTR_WIPHY]?.count(as: UInt32.self)
        else { return nil }
        self.index = index
        self.name = name
        self.phy = phy
        isStation = attributes[NL80211_ATTR_IFTYPE]?.number(as: UInt32.self) == NL80211_IFTYPE_STATION.rawValue
        address = attributes[NL80211_ATTR_MAC].flatMap { BSSID(bytes: $0.bytes) }
        ssid = attributes[NL80211_ATTR_SSID].flatMap { try? SSID(bytes: $0.bytes) }
        frequency = attributes[NL80211_ATTR_WIPHY_FREQ]?.count(as: UInt32.self).map(Frequency.init(megahertz:))
    }
}

extension NetlinkMessage {
    /// The command of a generic-netlink message.
    var command: UInt8? { payload.first }

    var nl80211Attributes: Attributes { attributes(after: GenericNetlinkFamily.headerLength) }
}
