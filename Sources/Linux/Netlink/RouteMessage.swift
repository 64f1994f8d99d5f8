import CNetlink
import Glibc

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
    /// What a message is about, whether or not anything of it is kept. Rules say which table a route is looked for in.
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
