import AgentModel
import CNetlink
import Glibc

/// A main-table route to one address through a gateway, such as a VPN client's route to its server.
public struct HostRoute: Hashable, Sendable {
    public let destination: IPAddress
    public let index: Int
    public let metric: Int
}

/// A decoded rtnetlink message, from a notification or a dump.
enum RouteMessage: Equatable {
    case link(LinkReport)
    case linkRemoved(index: Int)
    case address(InterfaceAddress)
    case addressRemoved(InterfaceAddress)
    /// Default routes, one per next hop. With `replaces`, they replace others of their family and metric.
    case defaultRoutes([DefaultRoute], replaces: Bool)
    case defaultRoutesRemoved([DefaultRoute])
    /// A host route. With `replaces`, it replaces another route to the same address with the same metric.
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
            guard let address = InterfaceAddress(message.payload) else { return nil }
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

extension InterfaceAddress {
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
        let allFlags = attributes[IFA_FLAGS]?.number(as: UInt32.self) ?? UInt32(flags)
        // An optimistic address is usable during the check (RFC 4429).
        let isOptimistic = allFlags & UInt32(IFA_F_OPTIMISTIC) != 0
        self.init(
            family: family, bytes: Array(bytes), prefixLength: Int(prefixLength), scope: Scope(scope),
            index: Int(clamping: index),
            isTentative: allFlags & UInt32(isOptimistic ? IFA_F_DADFAILED : IFA_F_TENTATIVE | IFA_F_DADFAILED) != 0)
    }
}

extension InterfaceAddress.Scope {
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
