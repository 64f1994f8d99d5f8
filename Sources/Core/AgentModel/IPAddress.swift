/// The two versions of the internet protocol.
public enum AddressFamily: Hashable, Sendable {
    case ipv4, ipv6

    /// How many bytes an address has.
    public var byteCount: Int {
        switch self {
        case .ipv4: 4
        case .ipv6: 16
        }
    }
}

/// An address of the internet protocol, by value: the same one compares equal however it was written.
public struct IPAddress: Hashable, Sendable {
    /// An IPv4 address that IPv6 carries (RFC 4291, 2.5.5.2) is IPv4.
    public let family: AddressFamily
    /// The address as a number, in the lowest bits.
    let bits: UInt128

    init(family: AddressFamily, bits: UInt128) {
        let isMapped = family == .ipv6 && bits >> 32 == 0xffff
        self.family = isMapped ? .ipv4 : family
        self.bits = isMapped ? bits & 0xffff_ffff : bits
    }

    /// - Parameter bytes: in network order.
    /// - Returns: nil unless there are 4 or 16.
    public init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case AddressFamily.ipv4.byteCount: self.init(family: .ipv4, bits: Self.number(bytes))
        case AddressFamily.ipv6.byteCount: self.init(family: .ipv6, bits: Self.number(bytes))
        default: return nil
        }
    }

    public var isIPv4: Bool { family == .ipv4 }

    /// 4 or 16, in network order.
    public var bytes: [UInt8] {
        (0..<family.byteCount).reversed().map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) }
    }

    /// Whether the first `length` bits of both are the same, as they are of two addresses of one network.
    /// - Parameter length: 0 to 32 for IPv4, to 128 for IPv6; what is more counts as that.
    public func shares(prefix length: Int, with other: IPAddress) -> Bool {
        let width = family.byteCount * 8
        let rest = width - min(max(length, 0), width)
        return family == other.family && bits >> rest == other.bits >> rest
    }

    private static func number(_ bytes: some Collection<UInt8>) -> UInt128 {
        bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }
}

extension IPAddress {
    /// Stands for no address in particular.
    public var isUnspecified: Bool { bits == 0 }

    /// 127.0.0.0/8 and ::1.
    public var isLoopback: Bool { isIPv4 ? bits >> 24 == 127 : bits == 1 }

    /// 169.254.0.0/16 (RFC 3927) and fe80::/10 (RFC 4291, 2.5.6): no router passes it on.
    public var isLinkLocal: Bool { isIPv4 ? bits >> 16 == 0xa9fe : bits >> 118 == 0x3fa }

    /// 224.0.0.0/4 and ff00::/8.
    public var isMulticast: Bool { isIPv4 ? bits >> 28 == 0xe : bits >> 120 == 0xff }

    /// 10.0.0.0/8, 172.16.0.0/12 and 192.168.0.0/16 (RFC 1918), 100.64.0.0/10, which providers share (RFC 6598), and
    /// fc00::/7 (RFC 4193): the internet has no route to it.
    public var isPrivate: Bool {
        switch family {
        case .ipv4: bits >> 24 == 10 || bits >> 20 == 0xac1 || bits >> 16 == 0xc0a8 || bits >> 22 == 0x191
        case .ipv6: bits >> 121 == 0x7e
        }
    }

    /// One host of the internet. The prefixes set aside for documentation count: they stand for such hosts.
    public var isGlobal: Bool {
        guard !isUnspecified, !isLoopback, !isLinkLocal, !isMulticast, !isPrivate else { return false }
        switch family {
        // Not "this network", nor what is reserved with the limited broadcast (RFC 6890, 2.2.2).
        case .ipv4: return bits >> 24 != 0 && bits >> 28 != 0xf
        // What has been given out (2000::/3), and IPv4's internet as networks without IPv4 see it (RFC 6052).
        case .ipv6: return bits >> 125 == 1 || bits >> 32 == 0x64_ff9b << 64
        }
    }
}
