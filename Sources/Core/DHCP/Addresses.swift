import AgentModel

public struct IPv4Address: Hashable, Sendable, Comparable {
    /// Address in host byte order: `192.168.1.2` is 0xc0a80102.
    public let bits: UInt32

    public init(bits: UInt32) { self.bits = bits }

    /// - Returns: nil unless there are four bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 4 else { return nil }
        bits = bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Parses `192.168.1.2`.
    public init?(_ text: some StringProtocol) {
        guard let address = IPAddress(text), address.isIPv4 else { return nil }
        self.init(bytes: address.bytes)
    }

    public static let unspecified = IPv4Address(bits: 0)
    public static let broadcast = IPv4Address(bits: .max)

    public var bytes: [UInt8] { bits.bytes }

    /// True if a host can have this address. Excludes "this network" (0/8), loopback, multicast, reserved and broadcast
    /// addresses (RFC 6890, 2.2.2).
    public var isHost: Bool { ![0, 127].contains(bits >> 24) && bits >> 28 < 0xe }

    /// True for 169.254.0.0/16. Hosts choose these addresses for themselves; servers do not assign them (RFC 3927,
    /// 1.6).
    public var isLinkLocal: Bool { bits >> 16 == 0xa9fe }

    public static func < (left: Self, right: Self) -> Bool { left.bits < right.bits }
}

extension IPv4Address: CustomStringConvertible {
    public var description: String { bytes.map { "\($0)" }.joined(separator: ".") }
}

extension IPv4Address {
    /// The address as an `IPAddress`, for code that handles both IP versions. Never nil.
    public var address: IPAddress? { IPAddress(bytes: bytes) }
}

public struct Subnet: Hashable, Sendable {
    /// First address; all bits after the prefix are zero.
    public let network: IPv4Address
    /// Prefix length, 0 to 32.
    public let prefixLength: Int

    /// - Parameter prefixLength: Clamped to 0 to 32.
    public init(of address: IPv4Address, prefixLength: Int) {
        self.prefixLength = min(max(prefixLength, 0), 32)
        network = IPv4Address(bits: address.bits & Self.mask(self.prefixLength))
    }

    /// Last address: the broadcast address if the subnet has more than two addresses.
    public var last: IPv4Address { IPv4Address(bits: network.bits | ~Self.mask(prefixLength)) }

    public var mask: IPv4Address { IPv4Address(bits: Self.mask(prefixLength)) }

    public func contains(_ address: IPv4Address) -> Bool {
        address.bits & Self.mask(prefixLength) == network.bits
    }

    /// Whether a host in this subnet can have the address. Every address of a /31 (RFC 3021) or /32 can be a host.
    public func hasHost(_ address: IPv4Address) -> Bool {
        address.isHost && contains(address) && (prefixLength >= 31 || address != network && address != last)
    }

    /// - Returns: nil if the mask is not contiguous.
    static func prefixLength(ofMask mask: IPv4Address) -> Int? {
        let length = (~mask.bits).leadingZeroBitCount
        return Self.mask(length) == mask.bits ? length : nil
    }

    /// Prefix length by address class (RFC 791, 3.2), used if the server sends no mask.
    static func prefixLength(ofClassOf address: IPv4Address) -> Int {
        switch address.bits >> 30 {
        case 0b00, 0b01: 8
        case 0b10: 16
        default: 24
        }
    }

    private static func mask(_ length: Int) -> UInt32 { length == 0 ? 0 : .max << UInt32(32 - length) }
}

extension Subnet: CustomStringConvertible {
    public var description: String { "\(network)/\(prefixLength)" }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// Bytes in network order.
    var bytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> Self($0)) }
    }

    /// - Returns: nil unless the number of bytes matches the type.
    init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.bitWidth / 8 else { return nil }
        self = bytes.reduce(0) { $0 << 8 | Self($1) }
    }
}
