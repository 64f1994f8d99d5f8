/// Static address for a network: of IPv4 instead of DHCP, or of IPv6 beside the addresses that routers announce.
public struct StaticAddress: Hashable, Sendable {
    /// Address of the device.
    public let address: IPAddress
    /// Prefix length, 8 to 32 for IPv4, 8 to 128 for IPv6.
    public let prefixLength: Int
    /// Next hop of the default route: within the subnet, or a link-local IPv6 address. Nil for a network without a
    /// router, or for the router that announces itself.
    public let gateway: IPAddress?
    /// Name servers (IPv4 or IPv6) in the order of use. At most ``maximumServers``.
    public let nameServers: [IPAddress]

    public static let maximumServers = 3

    /// - Parameter family: required family of the address; nil: either.
    /// - Throws: `StaticAddressError` with the invalid part. The family is checked first.
    public init(
        address: IPAddress, prefixLength: Int, family: AddressFamily? = nil, gateway: IPAddress? = nil,
        nameServers: [IPAddress] = []
    ) throws(StaticAddressError) {
        guard address.family == family ?? address.family else { throw .family(address) }
        guard (8...address.bytes.count * 8).contains(prefixLength) else { throw .prefixLength(prefixLength) }
        guard address.isHost, address.isIPv4 || !address.isLinkLocal, !Self.isEnd(address, of: prefixLength) else {
            throw .address(address)
        }
        if let gateway {
            let isInSubnet =
                gateway.shares(prefix: prefixLength, with: address) && !Self.isEnd(gateway, of: prefixLength)
            let isLinkLocalIPv6 = !address.isIPv4 && !gateway.isIPv4 && gateway.isLinkLocal
            guard gateway != address, gateway.isHost, isInSubnet || isLinkLocalIPv6 else { throw .gateway(gateway) }
        }
        guard nameServers.count <= Self.maximumServers else { throw .tooManyServers(nameServers.count) }
        for server in nameServers where !server.isHost { throw .nameServer(server) }
        (self.address, self.prefixLength) = (address, prefixLength)
        (self.gateway, self.nameServers) = (gateway, nameServers)
    }

    public var isIPv4: Bool { address.isIPv4 }

    /// Whether a host cannot have this address: the first of a subnet with more than two addresses, and the last of an
    /// IPv4 subnet.
    private static func isEnd(_ address: IPAddress, of prefixLength: Int) -> Bool {
        let width = address.bytes.count * 8
        guard prefixLength < width - 1 else { return false }
        let mask: UInt128 = (1 << UInt128(width - prefixLength)) - 1
        let host = address.bits & mask
        return host == 0 || address.isIPv4 && host == mask
    }
}

extension StaticAddress {
    /// - Parameters:
    ///   - text: Address and prefix length: `192.168.1.20/24` or `2001:db8::20/64`.
    ///   - family: required family of the address; nil: either.
    /// - Throws: `StaticAddressError` with the invalid part. Notation and family are checked first.
    public init(
        _ text: some StringProtocol, family: AddressFamily? = nil, gateway: IPAddress? = nil,
        nameServers: [IPAddress] = []
    ) throws(StaticAddressError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, (1...3).contains(parts[1].count), parts[1].allSatisfy({ 0x30...0x39 ~= $0 }),
            parts[1].count == 1 || parts[1].first != UInt8(ascii: "0"),
            let prefixLength = Int(String(decoding: parts[1], as: UTF8.self)),
            !parts[0].contains(UInt8(ascii: "%")), let address = IPAddress(String(decoding: parts[0], as: UTF8.self))
        else { throw .notation }
        try self.init(
            address: address, prefixLength: prefixLength, family: family, gateway: gateway, nameServers: nameServers)
    }

    public var text: String { "\(address)/\(prefixLength)" }
}

/// How the device gets its IPv4 address in a network.
public enum Addressing: Hashable, Sendable {
    case dhcp
    case fixed(StaticAddress)

    /// Static address; nil for DHCP.
    public var address: StaticAddress? {
        switch self {
        case .dhcp: nil
        case .fixed(let address): address
        }
    }
}

public enum StaticAddressError: Error, Hashable, Sendable {
    case address(IPAddress)
    /// The text does not have the form `192.168.1.20/24`.
    case notation
    /// An IPv6 address where IPv4 is configured, or the reverse.
    case family(IPAddress)
    /// Prefix length outside 8 to 32, or 8 to 128 for IPv6.
    case prefixLength(Int)
    /// The gateway is not another host in the subnet.
    case gateway(IPAddress)
    case nameServer(IPAddress)
    case tooManyServers(Int)
}

extension StaticAddressError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .address(let address):
            "\(address) is not an address that a host can be given; give one such as 192.168.1.20"
        case .notation:
            "not an address with a prefix length; give one such as 192.168.1.20/24 or 2001:db8::20/64"
        case .family(let address):
            address.isIPv4 ? "\(address) is IPv4; give an IPv6 address" : "\(address) is IPv6; give an IPv4 address"
        case .prefixLength(let length):
            "the prefix length is out of range: give 8 to 32, or 8 to 128 for IPv6, not \(length)"
        case .gateway(let gateway): "the gateway is not another host in the address's network: \(gateway)"
        case .nameServer(let server): "not an address of a name server: \(server)"
        case .tooManyServers(let count): "too many name servers: at most \(StaticAddress.maximumServers), not \(count)"
        }
    }
}
