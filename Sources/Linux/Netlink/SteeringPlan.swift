import AgentModel
import CNetlink

/// The routes and rules that two stations need so that the one in use carries the traffic, and the other one what was
/// begun over it:
///
/// - a default route over the station in use that comes before both stations' own, and after those that come before them;
/// - for each address of a station a rule by which its packets leave by that station, whichever is in use.
struct SteeringPlan: Equatable {
    private(set) var routes: Set<OwnRoute> = []
    private(set) var rules: Set<OwnRule> = []

    /// Tables and priorities of rules: this for the first station, and one more for the second.
    static let firstTable: UInt32 = 25_863
    /// By so much the route over the station in use comes before a station's own: also before one that the DHCP client is
    /// only about to make for the other station, whose metric differs by the number of the interface at most.
    static let headStart = 64
    private static let linkLocal: [UInt8] = [0xfe, 0x80] + Array(repeating: 0, count: 14)
    /// More addresses than a network gives.
    private static let maximumAddresses = 16

    /// - Parameters:
    ///   - stations: the interfaces, always in the same order; nil for one that is missing or down.
    ///   - used: the one in use.
    init(stations: [Int?], used: Int?, addresses: [Address], defaultRoutes: [DefaultRoute]) {
        let addresses = addresses.filter { $0.scope == .global && !$0.isTentative }
            .sorted { ($0.index, Hex.string($0.bytes)) < ($1.index, Hex.string($1.bytes)) }
        for (position, station) in stations.enumerated() {
            guard let station else { continue }
            let own = addresses.filter { $0.index == station }.prefix(Self.maximumAddresses)
            let table = Self.firstTable + UInt32(position)
            for family in [AddressFamily.ipv4, .ipv6] where own.contains(where: { $0.family == family }) {
                let best = defaultRoutes.filter { !$0.isOwn && $0.index == station && $0.family == family }
                    .min { $0.metric < $1.metric }
                plan(own.filter { $0.family == family }, best, of: station, table)
                guard station == used, let best else { continue }
                prefer(best, own.filter { $0.family == family }, over: addresses.filter { $0.index != station })
            }
        }
    }

    /// What leaves with one of a station's addresses.
    private mutating func plan(_ addresses: [Address], _ gateway: DefaultRoute?, of station: Int, _ table: UInt32) {
        for address in addresses {
            guard let source = IPAddress(bytes: address.bytes) else { continue }
            rules.insert(OwnRule(from: source, table: table, priority: table))
            routes.insert(onLink(address, source, table: table))
            guard address.family == .ipv6 else { continue }
            routes.insert(
                OwnRoute(.ipv6, to: Self.linkLocal, prefixLength: 64, through: nil, on: station, table: table))
        }
        guard let gateway else { return }
        routes.insert(
            OwnRoute(gateway.family, through: gateway.gateway, on: station, table: table))
    }

    private mutating func prefer(_ route: DefaultRoute, _ own: [Address], over others: [Address]) {
        guard route.metric > 0 else { return }
        let metric = route.metric - min(Self.headStart, (route.metric + 1) / 2)
        let main = RT_TABLE_MAIN.rawValue
        // The one that the gateway is in the network of.
        let source = own.first { address in
            guard let gateway = route.gateway.flatMap({ IPAddress(bytes: $0) }) else { return true }
            return IPAddress(bytes: address.bytes)?.shares(prefix: address.prefixLength, with: gateway) ?? false
        }
        let ipv4Source = route.family == .ipv4 ? source.flatMap { IPAddress(bytes: $0.bytes) } : nil
        routes.insert(
            OwnRoute(
                route.family, through: route.gateway, on: route.index, table: main, metric: metric, source: ipv4Source))
        // Two networks with the same numbers: what is near is in the one in use.
        for address in own where address.family == .ipv4 {
            guard let source = IPAddress(bytes: address.bytes),
                others.contains(where: { other in
                    guard let there = IPAddress(bytes: other.bytes) else { return false }
                    return source.shares(prefix: min(address.prefixLength, other.prefixLength), with: there)
                })
            else { continue }
            routes.insert(onLink(address, source, table: main, metric: metric))
        }
    }

    private func onLink(_ address: Address, _ source: IPAddress, table: UInt32, metric: Int = 0) -> OwnRoute {
        OwnRoute(
            address.family, to: address.bytes, prefixLength: address.prefixLength, through: nil, on: address.index,
            table: table, metric: metric, source: source.isIPv4 ? source : nil)
    }
}
