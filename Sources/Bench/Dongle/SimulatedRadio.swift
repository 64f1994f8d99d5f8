import AgentModel
import CNetlink
import Netlink

/// Creates and removes mac80211_hwsim radios in the calling thread's network namespace, like USB sticks. Uses the
/// module's netlink family (drivers/net/wireless/mac80211_hwsim.h of Linux).
public enum SimulatedRadio {
    private enum Command {
        static let make: UInt8 = 4
        static let remove: UInt8 = 5
    }

    private enum Attribute {
        static let name = 17
        static let address = 22
    }

    /// - Parameter phy: name of the radio in the kernel, such as `phy1`.
    public static func remove(_ phy: String) throws(DongleError) {
        let (conversation, family) = try open()
        var request = NetlinkRequest(family: family, command: Command.remove)
        request.attributes.put(Attribute.name, string: phy)
        try conversation.ask(request, attempting: "remove \(phy)")
    }

    /// Creates a radio with an interface. Check afterwards that the interface exists.
    /// - Parameter address: address of the radio and its interface.
    public static func make(address: BSSID) throws(DongleError) {
        let (conversation, family) = try open()
        var request = NetlinkRequest(family: family, command: Command.make)
        request.attributes.put(Attribute.address, bytes: address.bytes)
        // Ignore errors: the kernel returns the radio's ID as an error number, so failures cannot be distinguished.
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
