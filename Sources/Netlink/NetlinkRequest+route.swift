import CNetlink
import Glibc

extension NetlinkRequest {
    /// Asks for all links, addresses or routes, of every family.
    static func dump(of subject: RouteTable.Subject) -> NetlinkRequest {
        // An all-zero header is "any": struct ifinfomsg, struct ifaddrmsg and struct rtmsg in turn.
        switch subject {
        case .links: NetlinkRequest(type: UInt16(RTM_GETLINK), fixedPart: Array(repeating: 0, count: 16))
        case .addresses: NetlinkRequest(type: UInt16(RTM_GETADDR), fixedPart: Array(repeating: 0, count: 8))
        case .routes: NetlinkRequest(type: UInt16(RTM_GETROUTE), fixedPart: Array(repeating: 0, count: 12))
        }
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
