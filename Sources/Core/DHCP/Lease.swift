import AgentModel

/// Address and configuration from a DHCP server.
public struct Lease: Hashable, Sendable {
    public var address: IPv4Address
    /// Prefix length, 8 to 32.
    public var prefixLength: Int
    /// Next hop of the default route. Outside ``subnet`` it needs an on-link route. Nil in a network without a router.
    public var gateway: IPv4Address?
    /// Server identifier, used as the destination of renewals.
    public var server: IPv4Address
    public var nameServers: [IPv4Address] = []
    /// Search domains of letters, digits, hyphens, underscores and dots only.
    public var searchDomains: [String] = []
    /// MTU of 1280 to 65,535 bytes; nil for the link's default.
    public var mtu: Int?
    public var timeServers: [IPv4Address] = []
    /// Captive portal API (RFC 8908): https URL in printable ASCII.
    public var portal: String?
    /// Whether the server says that the network is metered.
    public var isMetered = false
    /// Routes other than the default route (RFC 3442).
    public var routes: [Route] = []

    /// Time T1, at which the client renews with the same server.
    public var renewal: Instant
    /// Time T2, at which the client rebinds with any server.
    public var rebinding: Instant
    public var expiry: Instant

    /// Hardware address of the client.
    public var hardware: HardwareAddress
    /// Hardware address of the gateway, used to recognize the network (RFC 4436).
    public var gatewayHardware: HardwareAddress?

    public struct Route: Hashable, Sendable {
        public let destination: Subnet
        /// Gateway of the route; nil if the destination is on-link.
        public let gateway: IPv4Address?

        public init(to destination: Subnet, by gateway: IPv4Address?) {
            (self.destination, self.gateway) = (destination, gateway)
        }
    }

    public init(
        address: IPv4Address, prefixLength: Int, gateway: IPv4Address?, server: IPv4Address, renewal: Instant,
        rebinding: Instant, expiry: Instant, hardware: HardwareAddress
    ) {
        (self.address, self.prefixLength, self.gateway) = (address, prefixLength, gateway)
        (self.server, self.hardware) = (server, hardware)
        (self.renewal, self.rebinding, self.expiry) = (renewal, rebinding, expiry)
    }

    public var subnet: Subnet { Subnet(of: address, prefixLength: prefixLength) }

    func isOnLink(_ host: IPv4Address) -> Bool {
        guard host.isHost, host != address else { return false }
        return subnet.hasHost(host) || prefixLength == 32
            || routes.contains { $0.gateway == nil && $0.destination.contains(host) }
    }

    /// Whether a host can be the gateway. Outside the subnet a route of its own leads there.
    func canReach(_ host: IPv4Address) -> Bool { host.isHost && host != address }

    /// Whether a route through a gateway would replace the on-link route to the subnet or to the default gateway.
    func isNeededOnLink(_ destination: Subnet) -> Bool {
        destination.prefixLength >= prefixLength && subnet.contains(destination.network)
            || destination.prefixLength == 32 && destination.network == gateway
    }
}

extension Lease {
    /// Restores a stored lease without invalid name servers. ``DHCPClient`` validates the rest before use.
    /// - Parameter expiry: Arbitrary if the lease's end is not known, see `isDated` of ``DHCPClient/Event/linkUp``.
    public init(
        stored address: IPv4Address, prefixLength: Int, gateway: IPv4Address?, gatewayHardware: HardwareAddress?,
        server: IPv4Address, nameServers: [IPv4Address], expiry: Instant, hardware: HardwareAddress, at now: Instant
    ) {
        let left = max(.zero, min(expiry - now, .seconds(Self.longest)))
        self.init(
            address: address, prefixLength: prefixLength, gateway: gateway, server: server, renewal: now + left / 2,
            rebinding: now + left * 7 / 8, expiry: expiry, hardware: hardware)
        self.nameServers = Array(nameServers.filter(\.isHost).prefix(Self.mostServers))
        self.gatewayHardware = gatewayHardware.flatMap { $0.isInterface ? $0 : nil }
    }

    public var configuration: NetworkConfiguration {
        var configuration = NetworkConfiguration()
        configuration.nameServers = nameServers.compactMap(\.address)
        configuration.searchDomains = searchDomains
        configuration.timeServers = timeServers.compactMap(\.address)
        configuration.portal = portal
        return configuration
    }
}

public enum LeaseError: Error, Hashable, Sendable {
    /// The address cannot belong to a host in the subnet.
    case badAddress(IPv4Address)
    /// The mask is not contiguous, or shorter than 8 bits.
    case badMask(IPv4Address)
    /// The prefix length of a stored lease is not 8 to 32.
    case badPrefixLength(Int)
    /// No host can have the gateway's address, or the device itself has it.
    case badGateway(IPv4Address)
    case badServer(IPv4Address)
}

extension Lease {
    /// Minimum lease in seconds. With this lease, renewals send about twelve messages a minute.
    static let shortest = 10
    /// Maximum lease in seconds. Longer leases are cut, so that the client notices a changed network within half a
    /// week.
    static let longest = 7 * 86_400
    /// Lease in seconds if the server tells no time.
    static let usual = 3600

    /// Validates the addresses of a received or stored lease.
    func checkAddresses() throws(LeaseError) {
        guard (8...32).contains(prefixLength) else { throw .badPrefixLength(prefixLength) }
        guard subnet.hasHost(address), !address.isLinkLocal else { throw .badAddress(address) }
        guard server.isHost else { throw .badServer(server) }
        if let gateway, !canReach(gateway) { throw .badGateway(gateway) }
    }
}

extension LeaseError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .badAddress(let address): "no host can have the address \(address)"
        case .badMask(let mask): "not a contiguous netmask of 8 to 32 bits: \(mask)"
        case .badPrefixLength(let length): "not a prefix length of 8 to 32 bits: \(length)"
        case .badGateway(let gateway): "not another host's address: the gateway \(gateway)"
        case .badServer(let server): "not a server's address: \(server)"
        }
    }
}
