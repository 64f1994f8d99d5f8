import NIOCore

/// An address of the internet protocol, by value: the same one compares equal however it was written.
struct IPAddress: Hashable, Sendable {
    /// 4 or 16 bytes in network order. An IPv4 address that IPv6 carries (RFC 4291, 2.5.5.2) has 4.
    private let bytes: [UInt8]

    /// - Returns: nil for the address of a Unix socket.
    init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address):
            bytes = withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
        case .v6(let address):
            let all = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
            bytes = all.starts(with: Self.mappedPrefix) ? Array(all.suffix(4)) : all
        case .unixDomainSocket:
            return nil
        }
    }

    /// - Parameter text: may name an interface after a percent sign, which is left out of the comparison.
    init?(_ text: String) {
        let address = String(text.prefix { $0 != "%" })
        guard let parsed = try? SocketAddress(ipAddress: address, port: 0) else { return nil }
        self.init(parsed)
    }

    var isLoopback: Bool { bytes.count == 4 ? bytes[0] == 127 : bytes == Self.loopback }

    /// What one household or one attacker has at least: an IPv4 address, or the 64 bits that an IPv6 network shares
    /// (RFC 4291, 2.5.4), within which anybody can take as many addresses as he likes. All of a link share the prefix of
    /// its own addresses (RFC 4291, 2.5.6), so there each counts.
    var site: Site { Site(bytes: bytes.count == 4 || isLinkLocal ? bytes : Array(bytes.prefix(8))) }

    private var isLinkLocal: Bool { bytes.count == 16 && bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80 }

    struct Site: Hashable, Sendable {
        fileprivate let bytes: [UInt8]
    }

    private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xff, 0xff]
    private static let loopback: [UInt8] = Array(repeating: 0, count: 15) + [1]
}

extension IPAddress: CustomStringConvertible {
    var description: String {
        (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: 0))?.ipAddress ?? "?"
    }
}
