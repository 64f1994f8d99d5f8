import CNetlink
import Glibc

/// A generic-netlink family as the kernel numbers it today (genetlink.h, `enum CTRL_ATTR`).
struct GenericNetlinkFamily: Hashable, Sendable {
    let id: UInt16
    /// The multicast groups by name.
    let groups: [String: Int]

    init(id: UInt16, groups: [String: Int]) { (self.id, self.groups) = (id, groups) }

    init?(_ message: NetlinkMessage) {
        let attributes = message.attributes(after: Self.headerLength)
        guard let id = attributes[CTRL_ATTR_FAMILY_ID]?.number(as: UInt16.self) else { return nil }
        let groups = attributes[CTRL_ATTR_MCAST_GROUPS]?.nested.compactMap { group -> (String, Int)? in
            guard let name = group.value.nested[CTRL_ATTR_MCAST_GRP_NAME]?.string,
                let number = group.value.nested[CTRL_ATTR_MCAST_GRP_ID]?.count(as: UInt32.self)
            else { return nil }
            return (name, number)
        }
        self.init(id: id, groups: Dictionary(groups ?? []) { first, _ in first })
    }

    /// The size of `struct genlmsghdr`.
    static let headerLength = 4

    /// Asks the controller, the one family whose number is fixed, for another family.
    static func request(named name: String) -> NetlinkRequest {
        var request = NetlinkRequest(family: UInt16(GENL_ID_CTRL), command: UInt8(CTRL_CMD_GETFAMILY), version: 2)
        request.attributes.put(CTRL_ATTR_FAMILY_NAME, string: name)
        return request
    }
}

extension NetlinkSocket {
    func family(named name: String) async throws(NetlinkError) -> GenericNetlinkFamily {
        let attempted = "look up the netlink family \(name)"
        do throws(NetlinkError) {
            let family = try await reply(
                to: GenericNetlinkFamily.request(named: name), attempting: attempted, decode: GenericNetlinkFamily.init)
            guard let family else { throw NetlinkError(attempted: attempted, reason: .malformed("no family number")) }
            return family
        } catch  where error.errno == ENOENT {
            throw NetlinkError(attempted: attempted, reason: .familyMissing(name))
        }
    }

    func join(group name: String, of family: GenericNetlinkFamily) throws(NetlinkError) {
        guard let group = family.groups[name] else {
            throw NetlinkError(attempted: "listen to nl80211's news", reason: .groupMissing(name))
        }
        try join(group: group, named: name)
    }
}
