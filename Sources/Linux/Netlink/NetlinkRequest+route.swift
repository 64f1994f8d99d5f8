import AgentModel
import CNetlink
import Glibc

extension NetlinkRequest {
    /// Asks for all links, addresses, routes or neighbours, of every family.
    static func dump(of subject: RouteSubject) -> NetlinkRequest {
        // An all-zero header is "any": struct ifinfomsg, struct ifaddrmsg, struct rtmsg and struct ndmsg in turn.
        switch subject {
        case .links: NetlinkRequest(type: UInt16(RTM_GETLINK), fixedPart: Array(repeating: 0, count: 16))
        case .addresses: NetlinkRequest(type: UInt16(RTM_GETADDR), fixedPart: Array(repeating: 0, count: 8))
        case .routes: NetlinkRequest(type: UInt16(RTM_GETROUTE), fixedPart: Array(repeating: 0, count: 12))
        case .neighbours: NetlinkRequest(type: UInt16(RTM_GETNEIGH), fixedPart: Array(repeating: 0, count: 12))
        }
    }

    /// Asks by which way packets for an address go (`struct rtmsg`). Nothing is sent there.
    static func way(to address: IPAddress) -> NetlinkRequest {
        // The rest is zero: any source, type of service, table, protocol, scope and type.
        let header = [address.family.number, UInt8(address.family.byteCount * 8)] + Array(repeating: 0, count: 10)
        var request = NetlinkRequest(type: UInt16(RTM_GETROUTE), fixedPart: header)
        request.attributes.put(RTA_DST, bytes: address.bytes)
        return request
    }

    /// Sets a link up or down (`struct ifinfomsg`).
    static func setLink(index: Int, up: Bool) -> NetlinkRequest {
        let flag = UInt32(IFF_UP)
        var header: [UInt8] = [UInt8(AF_UNSPEC), 0, 0, 0]  // Family, padding, hardware type.
        header.append(number: Int32(clamping: index))
        header.append(number: up ? flag : 0)
        header.append(number: flag)  // Which of the flags to change.
        return NetlinkRequest(type: UInt16(RTM_SETLINK), fixedPart: header)
    }
}
