import AgentModel
import CNetlink
import Glibc

/// A change of links, addresses or default routes.
public enum RouteEvent: Hashable, Sendable {
    /// A link has appeared or changed.
    case linkChanged(Link)
    case linkRemoved(Link)
    /// An address has appeared, changed or been confirmed. A DHCP client that confirms its address sets it again, which
    /// counts.
    case addressAdded(Address)
    case addressRemoved(Address)
    case defaultRouteAdded(DefaultRoute)
    case defaultRouteRemoved(DefaultRoute)
    /// Another interface, or none, carries internet traffic, or carries a tunnel.
    case uplinkChanged(ActiveUplink?)
    /// Messages were lost and everything was read again. Events for missed changes come before.
    case resynchronise
}

/// An address of an interface (`RTM_NEWADDR`).
public struct Address: Hashable, Sendable {
    public let family: AddressFamily
    /// Four or sixteen bytes, in network order.
    public let bytes: [UInt8]
    public let prefixLength: Int
    public let scope: Scope
    public let index: Int
    /// True if the address must not be used: duplicate detection is running or has failed (RFC 4862, 5.4).
    public let isTentative: Bool

    /// Scope of an address (rtnetlink.h, `enum rt_scope_t`).
    public enum Scope: Hashable, Sendable {
        case global, site, link, host
        case other(UInt8)
    }
}

/// A default route in the main table (`RTM_NEWROUTE`).
public struct DefaultRoute: Hashable, Sendable {
    public let family: AddressFamily
    public let gateway: [UInt8]?
    public let index: Int
    public let metric: Int
    /// True if this agent or an earlier run made it (`OwnRoute`).
    public var isOwn = false
}

/// A main-table route to one address through a gateway, such as a VPN client's route to its server.
public struct HostRoute: Hashable, Sendable {
    public let destination: IPAddress
    public let index: Int
    public let metric: Int
}

/// The interface of internet traffic: the best default route over a link that is up with a carrier. IPv4 routes come
/// first, because metrics of the two families are not comparable.
public struct ActiveUplink: Hashable, Sendable {
    public let kind: Uplink
    public let interface: String
    public let index: Int
    /// Interface below a tunnel, if known; nil for other links.
    public let carrier: Carrier?

    init(kind: Uplink, interface: String, index: Int, carrier: Carrier? = nil) {
        (self.kind, self.interface, self.index, self.carrier) = (kind, interface, index, carrier)
    }

    public struct Carrier: Hashable, Sendable {
        public let kind: Uplink
        public let interface: String
        public let index: Int
    }
}

/// A decoded rtnetlink message, from news or a dump.
enum RouteMessage: Equatable {
    case link(LinkReport)
    case linkRemoved(index: Int)
    case address(Address)
    case addressRemoved(Address)
    /// One default route per next hop. With `replaces`, they replace others of their family and metric.
    case defaultRoutes([DefaultRoute], replaces: Bool)
    case defaultRoutesRemoved([DefaultRoute])
    /// With `replaces`, it replaces another route to the same address with the same metric.
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
            guard let report = RouteDescription(message.payload), report.isGeneral else { return nil }
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
    /// Returns the subject of a message. Rules belong to routes: they select the tables.
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
        guard let family = reader.read(UInt8.self).flatMap(AddressFamily.init),
            let prefixLength = reader.read(UInt8.self), let flags = reader.read(UInt8.self),
            let scope = reader.read(UInt8.self), let index = reader.read(UInt32.self)
        else { return nil }
        let attributes = Attributes(reader.rest)
        // IFA_ADDRESS is the peer's on point-to-point links.
        guard let bytes = (attributes[IFA_LOCAL] ?? attributes[IFA_ADDRESS])?.bytes, bytes.count == family.byteCount
        else { return nil }
        self.family = family
        self.bytes = Array(bytes)
        self.prefixLength = Int(prefixLength)
        self.scope = Scope(scope)
        self.index = Int(clamping: index)
        let allFlags = attributes[IFA_FLAGS]?.number(as: UInt32.self) ?? UInt32(flags)
        // An optimistic address is usable during the check (RFC 4429).
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

    var number: UInt8 {
        switch self {
        case .ipv4: UInt8(AF_INET)
        case .ipv6: UInt8(AF_INET6)
        }
    }
}
