import AgentModel

/// A change of links, addresses or default routes.
public enum RouteEvent: Hashable, Sendable {
    /// A link appeared, or anything of it changed.
    case linkChanged(Link)
    case linkRemoved(Link)
    /// An address appeared, changed its state, or was confirmed: a DHCP client that finds its old address valid on a new
    /// network sets it again, and that counts.
    case addressAdded(Address)
    case addressRemoved(Address)
    case defaultRouteAdded(DefaultRoute)
    case defaultRouteRemoved(DefaultRoute)
    /// Another interface, or none, now carries traffic to the rest of the world, or a tunnel's packets.
    case uplinkChanged(ActiveUplink?)
    /// Messages were lost and everything was read anew. What changed meanwhile was told as events just before.
    case resynchronise
}

/// An address of an interface (`RTM_NEWADDR`).
public struct Address: Hashable, Sendable {
    public let family: AddressFamily
    /// Four or sixteen bytes, in network order.
    public let bytes: [UInt8]
    public let prefixLength: Int
    public let scope: Scope
    /// The interface.
    public let index: Int
    /// Not to be used yet, or not at all: its uniqueness is being checked, or the check failed (RFC 4862, 5.4).
    public let isTentative: Bool

    /// How far the address is valid (rtnetlink.h, `enum rt_scope_t`).
    public enum Scope: Hashable, Sendable {
        case global, site, link, host
        case other(UInt8)
    }
}

/// A route to everywhere in the main table (`RTM_NEWROUTE`).
public struct DefaultRoute: Hashable, Sendable {
    public let family: AddressFamily
    /// Nil on links without one, such as point-to-point links.
    public let gateway: [UInt8]?
    /// The interface it goes out by.
    public let index: Int
    /// Lower is preferred.
    public let metric: Int
    /// Whether this agent made it, or one before it (`OwnRoute`).
    public var isOwn = false
}

/// A route to one address through a gateway, in the main table: VPN clients make one to their server.
public struct HostRoute: Hashable, Sendable {
    public let destination: IPAddress
    /// The interface it goes out by.
    public let index: Int
    /// Lower is preferred.
    public let metric: Int
}

/// What carries traffic to the rest of the world: the best default route over a link that is up and has a carrier.
///
/// IPv4 decides while it has a default route, because metrics of the two families do not compare.
public struct ActiveUplink: Hashable, Sendable {
    public let kind: Uplink
    public let interface: String
    public let index: Int
    /// What carries the packets of a tunnel, if that can be told; nil for anything else.
    public let carrier: Carrier?

    init(kind: Uplink, interface: String, index: Int, carrier: Carrier? = nil) {
        (self.kind, self.interface, self.index, self.carrier) = (kind, interface, index, carrier)
    }

    /// The link underneath a tunnel.
    public struct Carrier: Hashable, Sendable {
        public let kind: Uplink
        public let interface: String
        public let index: Int
    }
}
