import AgentModel
import CNetlink
import Glibc

/// A change of links, addresses or default routes.
public enum RouteEvent: Hashable, Sendable {
    /// A link appeared, or anything of it changed.
    case linkChanged(Link)
    case linkRemoved(Link)
    /// An address appeared, changed its state, or was confirmed: a DHCP client that finds its old address valid on a
    /// new network sets it again, and that counts.
    case addressAdded(Address)
    case addressRemoved(Address)
    case defaultRouteAdded(DefaultRoute)
    case defaultRouteRemoved(DefaultRoute)
    /// Another interface, or none, now carries traffic to the rest of the world, or a tunnel's packets.
    case uplinkChanged(ActiveUplink?)
    /// Messages were lost and everything was read anew. Changes meanwhile were told as events just before.
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

/// The interface that carries traffic to the rest of the world: the best default route over a link that is up and has a
/// carrier.
///
/// IPv4 decides while it has a default route, because metrics of the two families do not compare.
public struct ActiveUplink: Hashable, Sendable {
    public let kind: Uplink
    public let interface: String
    public let index: Int
    /// The interface that carries the packets of a tunnel, if that can be told; nil for anything else.
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

/// One piece of rtnetlink's news, or of a dump, as far as it matters here.
enum RouteMessage: Equatable {
    case link(LinkReport)
    case linkRemoved(index: Int)
    case address(Address)
    case addressRemoved(Address)
    /// The default routes in it: none where it is about something else, several where it has several next hops.
    /// `replaces` where they take the place of others of their family and metric.
    case defaultRoutes([DefaultRoute], replaces: Bool)
    case defaultRoutesRemoved([DefaultRoute])
    /// `replaces` where it takes the place of another to the same address with the same metric.
    case hostRoute(HostRoute, replaces: Bool)
    case hostRouteRemoved(HostRoute)
    case neighbour(Neighbour)
    case neighbourRemoved(Neighbour.Key)

    init?(_ message: NetlinkMessage) {
        switch Int(message.type) {
        case RTM_NEWLINK, RTM_DELLINK:
            guard let report = LinkReport(message.payload) else { return nil }
            self = Int(message.type) == RTM_NEWLINK ? .link(report) : .linkRemoved(index: report.index)
        case RTM_NEWADDR, RTM_DELADDR:
            guard let address = Address(message.payload) else { return nil }
            self = Int(message.type) == RTM_NEWADDR ? .address(address) : .addressRemoved(address)
        case RTM_NEWROUTE, RTM_DELROUTE:
            guard let report = RouteReport(message.payload), report.isGeneral else { return nil }
            let (isNew, replaces) = (Int(message.type) == RTM_NEWROUTE, message.has(NLM_F_REPLACE))
            let routes = report.defaultRoutes
            if !routes.isEmpty {
                self = isNew ? .defaultRoutes(routes, replaces: replaces) : .defaultRoutesRemoved(routes)
            } else if let route = report.hostRoute {
                self = isNew ? .hostRoute(route, replaces: replaces) : .hostRouteRemoved(route)
            } else {
                return nil
            }
        case RTM_NEWNEIGH, RTM_DELNEIGH:
            guard let neighbour = Neighbour(message.payload) else { return nil }
            self = Int(message.type) == RTM_NEWNEIGH ? .neighbour(neighbour) : .neighbourRemoved(neighbour.key)
        default: return nil
        }
    }
}

extension RouteSubject {
    /// The subject of a message, whether or not anything of it is kept. Rules say which table a route is looked for in.
    init?(_ message: NetlinkMessage) {
        switch Int(message.type) {
        case RTM_NEWLINK, RTM_DELLINK: self = .links
        case RTM_NEWADDR, RTM_DELADDR: self = .addresses
        case RTM_NEWROUTE, RTM_DELROUTE, RTM_NEWRULE, RTM_DELRULE: self = .routes
        case RTM_NEWNEIGH, RTM_DELNEIGH: self = .neighbours
        default: return nil
        }
    }
}

extension Address {
    /// Reads `struct ifaddrmsg` and its attributes.
    init?(_ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        guard let family = reader.take(UInt8.self).flatMap(AddressFamily.init),
            let prefixLength = reader.take(UInt8.self), let flags = reader.take(UInt8.self),
            let scope = reader.take(UInt8.self), let index = reader.take(UInt32.self)
        else { return nil }
        let attributes = Attributes(reader.rest)
        // On point-to-point links IFA_ADDRESS is the other end's.
        guard let bytes = (attributes[IFA_LOCAL] ?? attributes[IFA_ADDRESS])?.bytes, bytes.count == family.byteCount
        else { return nil }
        self.family = family
        self.bytes = Array(bytes)
        self.prefixLength = Int(prefixLength)
        self.scope = Scope(scope)
        self.index = Int(clamping: index)
        let allFlags = attributes[IFA_FLAGS]?.number(as: UInt32.self) ?? UInt32(flags)
        // An optimistic address is used while it is checked (RFC 4429).
        let isOptimistic = allFlags & UInt32(IFA_F_OPTIMISTIC) != 0
        isTentative = allFlags & UInt32(isOptimistic ? IFA_F_DADFAILED : IFA_F_TENTATIVE | IFA_F_DADFAILED) != 0
    }
}

extension Address.Scope {
    init(_ number: UInt8) {
        switch UInt32(number) {
        case RT_SCOPE_UNIVERSE.rawValue: self = .global
        case RT_SCOPE_SITE.rawValue: self = .site
        case RT_SCOPE_LINK.rawValue: self = .link
        case RT_SCOPE_HOST.rawValue: self = .host
        default: self = .other(number)
        }
    }
}

extension AddressFamily {
    init?(_ number: UInt8) {
        switch Int32(number) {
        case AF_INET: self = .ipv4
        case AF_INET6: self = .ipv6
        default: return nil
        }
    }

    /// `AF_*`.
    var number: UInt8 {
        switch self {
        case .ipv4: UInt8(AF_INET)
        case .ipv6: UInt8(AF_INET6)
        }
    }
}
