import AgentModel

/// Events of an interface's IPv4 address, from DHCP or set by the owner.
public enum IPv4Event: Equatable, Sendable {
    /// The interface has the address and its routes, or other options of the lease have changed.
    /// - Parameter isConfirmed: false if only the gateway has confirmed that this is the network of the lease.
    case inUse(Lease, isConfirmed: Bool)
    case dropped(Lease, DHCPClient.DropReason)
    /// Lease to store, and to pass to the next start in this network.
    case remember(Lease)
    /// The stored lease is invalid.
    case forget
    case inUseStatic(StaticAddress)
    case droppedStatic(StaticAddress, DHCPClient.DropReason)
    /// The gateway beside a static address answers from this hardware address.
    case foundGateway(HardwareAddress)
    /// Problem of a server or neighbour, in one line, for the user.
    case problem(String)
}

/// Events of an interface's IPv6 configuration.
public enum IPv6Event: Equatable, Sendable {
    /// Combined configuration of all routers and servers, after each change.
    case configuration(NetworkConfiguration)
    /// DHCPv6 lease to store, and to pass to the next start in this network; nil if the stored lease is invalid.
    case lease(IPv6Lease?)
    /// Problem of a server or neighbour, in one line, for the user.
    case problem(String)
}
