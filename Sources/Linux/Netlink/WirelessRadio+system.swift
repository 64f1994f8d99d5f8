import AgentModel
import CNetlink

extension WirelessRadio {
    /// All wireless interfaces of the system.
    public func interfaces() async throws(NetlinkError) -> [WirelessInterface] {
        let attempted = "list the wireless interfaces"
        let request = NetlinkRequest(nl80211: NL80211_CMD_GET_INTERFACE, family: try nl80211(attempting: attempted))
        return try await socket.dump(request, attempting: attempted) { WirelessInterface($0) }
    }

    /// What the radio of this interface can do.
    public func phy() async throws(NetlinkError) -> Phy {
        let attempted = "read what the radio of \(interface) can do"
        var request = try request(NL80211_CMD_GET_WIPHY, attempting: attempted)
        request.attributes.putFlag(NL80211_ATTR_SPLIT_WIPHY_DUMP)
        guard let phy = try await Phy(socket.dump(request, attempting: attempted) { $0 }) else {
            throw NetlinkError(attempted: attempted, reason: .malformed("no radio in it"))
        }
        return phy
    }

    /// Gives the radio of this interface one more, a station, which is down. Its address is the driver's choice.
    /// - Parameter name: at most 15 bytes.
    /// - Throws: `refused` where the name is taken or the radio has as many as it can.
    public func addStation(_ name: String) async throws(NetlinkError) {
        let attempted = "give the radio of \(interface) the interface \(name)"
        var request = try request(NL80211_CMD_NEW_INTERFACE, attempting: attempted)
        request.attributes.put(Int(NL80211_ATTR_IFNAME.rawValue), string: name)
        request.attributes.put(NL80211_ATTR_IFTYPE, NL80211_IFTYPE_STATION.rawValue)
        try await socket.perform(request, attempting: attempted)
    }

    /// The regulatory domain in force: two letters, "00" for the world domain.
    public func regulatoryDomain() async throws(NetlinkError) -> String {
        let attempted = "read the regulatory domain"
        let request = NetlinkRequest(nl80211: NL80211_CMD_GET_REG, family: try nl80211(attempting: attempted))
        let country = try await socket.reply(to: request, attempting: attempted) { message in
            message.nl80211Attributes[NL80211_ATTR_REG_ALPHA2]?.string
        }
        guard let country else { throw NetlinkError(attempted: attempted, reason: .malformed("no country in it")) }
        return country
    }
}
