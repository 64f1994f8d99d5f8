import AgentModel
import CNetlink
import Netlink

/// mac80211_hwsim's radios as sticks that are pulled and plugged: its own netlink family makes and removes them (drivers/net/
/// wireless/mac80211_hwsim.h of Linux). Both are of the network namespace of the calling thread.
public enum SimulatedRadio {
    private enum Command {
        static let make: UInt8 = 4
        static let remove: UInt8 = 5
    }

    private enum Attribute {
        static let name = 17
        static let address = 22
    }

    /// - Parameter phy: the kernel's name for it, such as `phy1`.
    public static func remove(_ phy: String) throws(DongleError) {
        let (conversation, family) = try open()
        var request = NetlinkRequest(family: family, command: Command.remove)
        request.attributes.put(Attribute.name, string: phy)
        try conversation.ask(request, attempting: "remove \(phy)")
    }

    /// Has one made with an interface, which is there or not when this returns.
    /// - Parameter address: of it, and of its interface.
    public static func make(address: BSSID) throws(DongleError) {
        let (conversation, family) = try open()
        var request = NetlinkRequest(family: family, command: Command.make)
        request.attributes.put(Attribute.address, bytes: address.bytes)
        // Its number comes back in the place of an error's: whether it is there shows elsewhere.
        try? conversation.ask(request, attempting: "make a radio with the address \(address)")
    }

    private static func open() throws(DongleError) -> (NetlinkConversation, family: UInt16) {
        let conversation = try NetlinkConversation()
        var found: GenericNetlinkFamily?
        try conversation.ask(.init(familyNamed: "MAC80211_HWSIM"), attempting: "look up mac80211_hwsim") {
            found = found ?? GenericNetlinkFamily($0)
        }
        guard let found else { throw .missing("mac80211_hwsim") }
        return (conversation, found.id)
    }
}
