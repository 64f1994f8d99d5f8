import AgentModel
import CNetlink
import Glibc

/// A message to the kernel. The socket adds flags, sequence number and port.
package struct NetlinkRequest {
    package let type: UInt16
    /// Header of the message type, before the attributes.
    private let fixedPart: [UInt8]
    package var attributes = AttributeWriter()
    /// Flags of the message type, `NLM_F_*`.
    package var flags: Int32 = 0

    package init(type: UInt16, fixedPart: [UInt8]) {
        self.type = type
        self.fixedPart = fixedPart
    }

    /// Creates a generic netlink request (genetlink.h, `struct genlmsghdr`).
    package init(family: UInt16, command: UInt8, version: UInt8 = 1) {
        self.init(type: family, fixedPart: [command, version, 0, 0])
    }

    package func encoded(flags: Int32, sequence: UInt32, port: UInt32) -> [UInt8] {
        var body = fixedPart
        body.padToNetlinkAlignment()
        body.append(contentsOf: attributes.bytes)
        var message: [UInt8] = []
        message.reserveCapacity(NetlinkMessage.headerLength + body.count)
        message.append(number: UInt32(clamping: NetlinkMessage.headerLength + body.count))
        message.append(number: type)
        message.append(number: UInt16(truncatingIfNeeded: flags | self.flags))
        message.append(number: sequence)
        message.append(number: port)
        return message + body
    }
}

package struct AttributeWriter {
    package private(set) var bytes: [UInt8] = []

    package mutating func put(_ type: some RawRepresentable<UInt32>, bytes value: some Collection<UInt8>) {
        put(Int(type.rawValue), bytes: value)
    }

    package mutating func put(_ type: some RawRepresentable<UInt32>, _ number: some FixedWidthInteger) {
        put(Int(type.rawValue), number)
    }

    package mutating func putFlag(_ type: some RawRepresentable<UInt32>) { put(Int(type.rawValue), bytes: []) }

    package mutating func putNested(_ type: some RawRepresentable<UInt32>, _ fill: (inout AttributeWriter) -> Void) {
        putNested(Int(type.rawValue), fill)
    }

    package mutating func put(_ type: Int, bytes value: some Collection<UInt8>) {
        bytes.append(number: UInt16(clamping: Attributes.headerLength + value.count))
        bytes.append(number: UInt16(truncatingIfNeeded: type))
        bytes.append(contentsOf: value)
        bytes.padToNetlinkAlignment()
    }

    package mutating func put(_ type: Int, _ number: some FixedWidthInteger) {
        var value: [UInt8] = []
        value.append(number: number)
        put(type, bytes: value)
    }

    /// Writes text with a final zero byte.
    package mutating func put(_ type: Int, string: String) { put(type, bytes: Array(string.utf8) + [0]) }

    package mutating func putNested(_ type: Int, _ fill: (inout AttributeWriter) -> Void) {
        var inner = AttributeWriter()
        fill(&inner)
        put(type | Self.nestedFlag, bytes: inner.bytes)
    }

    /// Flag `NLA_F_NESTED`, required by newer kernels in newer messages.
    private static let nestedFlag = 0x8000
}

extension NetlinkRequest {
    static func dump(of subject: RouteSubject) -> NetlinkRequest {
        // An all-zero header selects everything: struct ifinfomsg, struct ifaddrmsg, struct rtmsg and struct ndmsg in
        // turn.
        switch subject {
        case .links: NetlinkRequest(type: UInt16(RTM_GETLINK), fixedPart: Array(repeating: 0, count: 16))
        case .addresses: NetlinkRequest(type: UInt16(RTM_GETADDR), fixedPart: Array(repeating: 0, count: 8))
        case .routes: NetlinkRequest(type: UInt16(RTM_GETROUTE), fixedPart: Array(repeating: 0, count: 12))
        case .neighbours: NetlinkRequest(type: UInt16(RTM_GETNEIGH), fixedPart: Array(repeating: 0, count: 12))
        }
    }

    /// Requests the route to an address (`struct rtmsg`). Sends no packets there.
    static func routeLookup(to address: IPAddress) -> NetlinkRequest {
        // The zeros mean any source, type of service, table, protocol, scope and type.
        let header = [address.family.number, UInt8(address.family.byteCount * 8)] + Array(repeating: 0, count: 10)
        var request = NetlinkRequest(type: UInt16(RTM_GETROUTE), fixedPart: header)
        request.attributes.put(RTA_DST, bytes: address.bytes)
        return request
    }

    static func setLink(index: Int, up: Bool) -> NetlinkRequest {
        let flag = UInt32(IFF_UP)
        return setLink(index: index, changing: flag, to: up ? flag : 0)
    }

    private static func setLink(index: Int, changing mask: UInt32, to flags: UInt32) -> NetlinkRequest {
        var header: [UInt8] = [UInt8(AF_UNSPEC), 0, 0, 0]  // Family, padding, hardware type.
        header.append(number: Int32(clamping: index))
        header.append(number: flags)
        header.append(number: mask)
        return NetlinkRequest(type: UInt16(RTM_SETLINK), fixedPart: header)
    }
}

extension NetlinkRequest {
    /// Sets `net.ipv4.conf.IFACE.forwarding` to 0 (devinet.c, `inet_set_link_af`). The sysctl file is writable only for
    /// root.
    static func forbidForwarding(on index: Int) -> NetlinkRequest {
        var request = setLink(index: index, changing: 0, to: 0)
        request.attributes.putNested(Int(IFLA_AF_SPEC)) { families in
            families.putNested(Int(AF_INET)) { inet in
                inet.putNested(Int(IFLA_INET_CONF)) { $0.put(Self.forwarding, UInt32(0)) }
            }
        }
        return request
    }

    /// Number `IPV4_DEVCONF_FORWARDING` of linux/ip.h, which conflicts with netinet/ip.h.
    private static let forwarding = 1
}

/// A generic netlink family with its current numbers (genetlink.h, `enum CTRL_ATTR`).
package struct GenericNetlinkFamily: Hashable, Sendable {
    package let id: UInt16
    package let groups: [String: Int]

    init(id: UInt16, groups: [String: Int]) { (self.id, self.groups) = (id, groups) }

    package init?(_ message: NetlinkMessage) {
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

    /// Size of `struct genlmsghdr` in bytes.
    static let headerLength = 4

    /// Creates a request for a family's numbers. The controller, which answers it, has a fixed number.
    package static func request(named name: String) -> NetlinkRequest {
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
            throw NetlinkError(attempted: "listen to nl80211's events", reason: .groupMissing(name))
        }
        try join(group: group, named: name)
    }
}
