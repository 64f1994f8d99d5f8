/// Static IPv4 address for a network, used instead of DHCP.
public struct StaticAddress: Hashable, Sendable {
    /// IPv4 address of the device.
    public let address: IPAddress
    /// Prefix length, 8 to 32.
    public let prefixLength: Int
    /// Next hop of the default route, within the subnet; nil for a network without a router.
    public let gateway: IPAddress?
    /// Name servers (IPv4 or IPv6) in the order of use. At most ``maximumServers``.
    public let nameServers: [IPAddress]

    public static let maximumServers = 3

    /// - Throws: `StaticAddressError` with the invalid part.
    public init(
        address: IPAddress, prefixLength: Int, gateway: IPAddress? = nil, nameServers: [IPAddress] = []
    ) throws(StaticAddressError) {
        guard (8...32).contains(prefixLength) else { throw .prefixLength(prefixLength) }
        guard address.isIPv4, address.isHost, !Self.isEnd(address, of: prefixLength) else {
            throw .address(address)
        }
        if let gateway {
            guard gateway.isIPv4, gateway != address, gateway.isHost, !Self.isEnd(gateway, of: prefixLength),
                gateway.shares(prefix: prefixLength, with: address)
            else { throw .gateway(gateway) }
        }
        guard nameServers.count <= Self.maximumServers else { throw .tooManyServers(nameServers.count) }
        for server in nameServers where !server.isHost { throw .nameServer(server) }
        (self.address, self.prefixLength) = (address, prefixLength)
        (self.gateway, self.nameServers) = (gateway, nameServers)
    }

    /// Whether this is the first or last address of a subnet with more than two addresses. A host cannot have such an
    /// address.
    private static func isEnd(_ address: IPAddress, of prefixLength: Int) -> Bool {
        guard prefixLength < 31 else { return false }
        let mask = UInt32.max >> UInt32(prefixLength)
        let host = address.bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & mask
        return host == 0 || host == mask
    }
}

extension StaticAddress {
    /// - Parameter text: Address and prefix length: `192.168.1.20/24`.
    public init(
        _ text: some StringProtocol, gateway: IPAddress? = nil, nameServers: [IPAddress] = []
    ) throws(StaticAddressError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[1].count), parts[1].allSatisfy({ 0x30...0x39 ~= $0 }),
            parts[1].count == 1 || parts[1].first != UInt8(ascii: "0"),
            let prefixLength = Int(String(decoding: parts[1], as: UTF8.self)),
            let address = IPAddress(String(decoding: parts[0], as: UTF8.self)), address.isIPv4
        else { throw .notation }
        try self.init(address: address, prefixLength: prefixLength, gateway: gateway, nameServers: nameServers)
    }

    public var text: String { "\(address)/\(prefixLength)" }
}

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
    /// Prefix length outside 8 to 32.
    case prefixLength(Int)
    /// The gateway is not another host in the subnet.
    case gateway(IPAddress)
    case nameServer(IPAddress)
    case tooManyServers(Int)
}

extension StaticAddressError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .address(let address): "\(address) is not a host's address; give an IPv4 address such as 192.168.1.20"
        case .notation:
            "not an IPv4 address with a prefix length; give one such as 192.168.1.20/24"
        case .prefixLength(let length): "the prefix length is out of range: give 8 to 32, such as 24, not \(length)"
        case .gateway(let gateway): "the gateway is not another host in the address's network: \(gateway)"
        case .nameServer(let server): "not an address of a name server: \(server)"
        case .tooManyServers(let count): "too many name servers: at most \(StaticAddress.maximumServers), not \(count)"
        }
    }
}
