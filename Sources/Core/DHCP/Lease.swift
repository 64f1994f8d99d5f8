import AgentModel

/// An address and all that a server says with it.
public struct Lease: Hashable, Sendable {
    public var address: IPv4Address
    /// Of the network that the address is in; 8 to 32.
    public var prefixLength: Int
    /// The next hop of the default route. It may lie beyond ``subnet``; then it needs a route to it on the link.
    public var gateway: IPv4Address?
    /// The identifier of the server, at which it is asked for more time.
    public var server: IPv4Address
    public var nameServers: [IPv4Address] = []
    /// Where short names are looked for; letters, digits, hyphens, underscores and dots.
    public var searchDomains: [String] = []
    /// 1280 to 65,535 bytes. The link's own may be less.
    public var mtu: Int?
    public var timeServers: [IPv4Address] = []
    /// The network's captive portal API (RFC 8908): https and printable ASCII.
    public var portal: String?
    /// Routes beside the default route (RFC 3442).
    public var routes: [Route] = []

    /// When the server is asked for more time (T1).
    public var renewal: Instant
    /// When any server is asked for more time (T2).
    public var rebinding: Instant
    /// From then on the address is another's.
    public var expiry: Instant

    /// The hardware address that it was given to.
    public var hardware: HardwareAddress
    /// The gateway's hardware address, by which the network is known again (RFC 4436).
    public var gatewayHardware: HardwareAddress?

    public struct Route: Hashable, Sendable {
        public let destination: Subnet
        /// Nil where the destination is on the link itself.
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

    /// Whether the host can be reached without a gateway.
    func isOnLink(_ host: IPv4Address) -> Bool {
        guard host.isHost, host != address else { return false }
        return subnet.hasHost(host) || prefixLength == 32
            || routes.contains { $0.gateway == nil && $0.destination.contains(host) }
    }

    /// Whether a route through a gateway to there would take the network itself, or the way to the default gateway, off
    /// the link.
    func isNeededOnLink(_ destination: Subnet) -> Bool {
        destination.prefixLength >= prefixLength && subnet.contains(destination.network)
            || destination.prefixLength == 32 && destination.network == gateway
    }
}

extension Lease {
    /// A lease that was stored, with what is worth storing. ``DHCPClient`` checks it before it is asked for.
    /// - Parameters:
    ///   - nameServers: what no host can have is left out.
    ///   - expiry: any moment where the device did not know the time; see `isDated` of ``DHCPClient/Event/linkUp``.
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

    /// What the network tells beside the address.
    public var configuration: NetworkConfiguration {
        var configuration = NetworkConfiguration()
        configuration.nameServers = nameServers.compactMap(\.address)
        configuration.searchDomains = searchDomains
        configuration.timeServers = timeServers.compactMap(\.address)
        configuration.portal = portal
        return configuration
    }
}

/// Why a lease is not taken, or not taken up again.
public enum LeaseError: Error, Hashable, Sendable {
    /// The address is not one that a host can have in its network.
    case badAddress(IPv4Address)
    /// The mask has ones behind zeros, or leaves less than 8 bits for the network.
    case badMask(IPv4Address)
    /// The gateway is not on the link, or is the device itself.
    case badGateway(IPv4Address, outside: Subnet)
    case badServer(IPv4Address)
    /// The server does not say what it has to.
    case missing(DHCPOption)
    /// An option has a length that its RFC does not allow.
    case malformed(DHCPOption)
    /// The lease ends at once, or so early that nothing but asking for more would be done; in seconds.
    case tooShort(Int)
}

extension Lease {
    /// The shortest lease that is taken, in seconds: it is renewed after half of it, and ten messages a minute are
    /// enough.
    static let shortest = 10
    /// Longer leases count as this long, in seconds: a network that has changed is noticed within half a week.
    static let longest = 7 * 86_400

    /// What is wrong with the addresses. A lease that was stored is checked like one that a server gives.
    func checkAddresses() throws(LeaseError) {
        guard (8...32).contains(prefixLength) else { throw .badMask(address) }
        guard subnet.hasHost(address), !address.isLinkLocal else { throw .badAddress(address) }
        guard server.isHost else { throw .badServer(server) }
        if let gateway, !isOnLink(gateway) { throw .badGateway(gateway, outside: subnet) }
    }
}

extension LeaseError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .badAddress(let address): "no host can have the address \(address)"
        case .badMask(let mask): "\(mask) is no mask of a network of 8 to 32 bits"
        case .badGateway(let gateway, let subnet): "the gateway \(gateway) is no other host in \(subnet)"
        case .badServer(let server): "no server can have the address \(server)"
        case .missing(let option): "option \(option.rawValue) is missing"
        case .malformed(let option): "option \(option.rawValue) is malformed"
        case .tooShort(let seconds): "a lease of \(seconds) s is shorter than \(Lease.shortest) s"
        }
    }
}
