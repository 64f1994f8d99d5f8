import AgentModel
import Netlink

extension Uplink {
    /// What carries the device's traffic if that is not the interface with the index `own`; nil if it is, or if nothing
    /// does.
    ///
    /// A tunnel or a bridge does not count: the traffic in it leaves the device by something else, and that may be the very
    /// Wi-Fi link that is asked about.
    /// - Parameter routes: the preferred first.
    static func besides(_ own: Int?, links: [Int: Link], routes: [DefaultRoute]) -> Uplink? {
        let usable = routes.compactMap { route -> (family: AddressFamily, link: Link)? in
            guard let link = links[route.index], link.isUp, link.hasCarrier, link.kind != .other else { return nil }
            return (route.family, link)
        }
        // Metrics of the two families do not compare; IPv4 is what every network has.
        guard let best = usable.first(where: { $0.family == .ipv4 }) ?? usable.first, best.link.index != own
        else { return nil }
        return best.link.kind
    }
}
