import AgentModel
import NIOCore

extension IPAddress {
    /// - Returns: nil for the address of a Unix socket.
    init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address): self.init(bytes: withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
        case .v6(let address): self.init(bytes: withUnsafeBytes(of: address.address.sin6_addr) { Array($0) })
        case .unixDomainSocket: return nil
        }
    }

    /// What one household or one attacker has at least: an IPv4 address, or the 64 bits that an IPv6 network shares
    /// (RFC 4291, 2.5.4), within which anybody can take as many addresses as he likes. All of a link share the prefix of
    /// its own addresses (RFC 4291, 2.5.6), so there each counts.
    var site: Site { Site(bytes: isIPv4 || isLinkLocal ? bytes : Array(bytes.prefix(8))) }

    struct Site: Hashable, Sendable {
        fileprivate let bytes: [UInt8]
    }
}
