import AgentModel
import CNetlink
import Glibc

/// Routes and rules that steer traffic between stations and other uplinks:
///
/// - with two stations, a default route over the station in use, with a slightly lower metric than the station's own
///   default route;
/// - a default route over the preferred uplink, with a lower metric than the other uplinks' default routes;
/// - for each address a rule that sends its packets over its own interface, whichever is in use.
struct SteeringPlan: Equatable {
    private(set) var routes: Set<OwnRoute> = []
    private(set) var rules: Set<OwnRule> = []

    /// Table number and rule priority of the first station. The second one has the next number, then other uplinks.
    static let firstTable: UInt32 = 25_863
    private static let maximumStations = 2
    /// Distance of the priority of a rule for the main table before the interface's own.
    private static let mainHeadStart: UInt32 = 100
    /// Amount by which the plan's route has a lower metric than the station in use. Also covers future routes of the
    /// other station's DHCP client, whose metric differs by at most the interface index.
    static let headStart = 64
    private static let linkLocal: [UInt8] = [0xfe, 0x80] + Array(repeating: 0, count: 14)
    /// Maximum number of addresses per station.
    private static let maximumAddresses = 16

    /// - Parameters:
    ///   - stations: interface indices in a fixed order; nil if missing or down.
    ///   - used: index of the station in use.
    ///   - preferred: index of the preferred uplink; nil to leave the choice to the metrics.
    ///   - carriers: indices of all uplinks that may carry traffic. Tunnels keep their metrics' order.
    ///   - keepsPaths: true to send packets of the carriers' addresses over their own interface, so that connections
    ///     last and a strict reverse path filter accepts the answers to checks. An uplink is preferred only then.
    init(
        stations: [Int?], used: Int?, addresses: [InterfaceAddress], defaultRoutes: [DefaultRoute],
        preferred: Int? = nil, carriers: Set<Int> = [], keepsPaths: Bool = false
    ) {
        let addresses = addresses.filter { $0.scope == .global && !$0.isTentative }
            .sorted { ($0.index, Hex.string($0.bytes)) < ($1.index, Hex.string($1.bytes)) }
        for (position, station) in stations.enumerated() {
            guard let station else { continue }
            let own = addresses.filter { $0.index == station }.prefix(Self.maximumAddresses)
            let table = Self.firstTable + UInt32(position)
            for family in [AddressFamily.ipv4, .ipv6] where own.contains(where: { $0.family == family }) {
                let best = defaultRoutes.filter { !$0.isOwn && $0.index == station && $0.family == family }
                    .min { $0.metric < $1.metric }
                plan(
                    own.filter { $0.family == family }, best, of: station, table, isExclusive: stations.count > 1)
                guard station == used, stations.count > 1, let best else { continue }
                prefer(best, own.filter { $0.family == family }, over: addresses.filter { $0.index != station })
            }
        }
        guard keepsPaths else { return }
        let others = carriers.subtracting(stations.compactMap(\.self)).sorted()
        for (position, other) in others.enumerated() {
            let table = Self.firstTable + UInt32(Self.maximumStations + position)
            for family in [AddressFamily.ipv4, .ipv6] {
                let own = addresses.filter { $0.index == other && $0.family == family }.prefix(Self.maximumAddresses)
                let best = defaultRoutes.filter { !$0.isOwn && $0.index == other && $0.family == family }
                    .min { $0.metric < $1.metric }
                if !own.isEmpty { plan(Array(own), best, of: other, table, isExclusive: false) }
            }
        }
        guard let preferred else { return }
        // An uplink without a default route of a family leaves that family's traffic to the others.
        for family in [AddressFamily.ipv4, .ipv6] {
            let rivals = defaultRoutes.filter { !$0.isOwn && $0.family == family }
            guard let best = rivals.filter({ $0.index == preferred }).min(by: { $0.metric < $1.metric }),
                let rival = rivals.filter({ $0.index != preferred && carriers.contains($0.index) })
                    .map({ stations.count > 1 && stations.contains($0.index) ? Self.steered($0.metric) : $0.metric })
                    .min(),
                let metric = Self.metric(below: rival, family)
            else { continue }
            let own = addresses.filter { $0.index == preferred && $0.family == family }
            copy(best, own, metric: metric)
            // Networks of other uplinks may have the metric 0, too.
            keepOnLink(own, over: addresses.filter { $0.index != preferred && carriers.contains($0.index) }, metric: 0)
        }
    }

    /// Returns the highest metric that wins against `rival`; nil if there is none. IPv4 needs no lower metric than 0:
    /// the kernel puts the newer of two such routes first. For IPv6, 0 means the default metric.
    private static func metric(below rival: Int, _ family: AddressFamily) -> Int? {
        switch family {
        case .ipv4: max(0, rival - 1)
        case .ipv6: rival > 1 ? rival - 1 : nil
        }
    }

    /// Metric of the route over the station in use, whose own default route has `metric`.
    private static func steered(_ metric: Int) -> Int { metric - min(headStart, (metric + 1) / 2) }

    /// Plans rules and routes for packets from an interface's addresses.
    /// - Parameter isExclusive: false if routes of the main table, other than default routes, come first, such as to
    ///   containers.
    private mutating func plan(
        _ addresses: [InterfaceAddress], _ gateway: DefaultRoute?, of station: Int, _ table: UInt32, isExclusive: Bool
    ) {
        for address in addresses {
            guard let source = IPAddress(bytes: address.bytes) else { continue }
            if !isExclusive {
                rules.insert(
                    OwnRule(
                        from: source, table: UInt32(RT_TABLE_MAIN.rawValue), priority: table - Self.mainHeadStart,
                        skipsDefaultRoutes: true))
            }
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

    private mutating func prefer(_ route: DefaultRoute, _ own: [InterfaceAddress], over others: [InterfaceAddress]) {
        guard route.metric > 0 else { return }
        let metric = Self.steered(route.metric)
        copy(route, own, metric: metric)
        keepOnLink(own, over: others, metric: metric)
    }

    /// If two networks have the same prefix, on-link addresses belong to the one in use.
    private mutating func keepOnLink(_ own: [InterfaceAddress], over others: [InterfaceAddress], metric: Int) {
        for address in own where address.family == .ipv4 {
            guard let source = IPAddress(bytes: address.bytes), source.isPrivate,
                others.contains(where: { other in
                    guard let there = IPAddress(bytes: other.bytes) else { return false }
                    return source.shares(prefix: min(address.prefixLength, other.prefixLength), with: there)
                })
            else { continue }
            routes.insert(onLink(address, source, table: RT_TABLE_MAIN.rawValue, metric: metric))
        }
    }

    /// Plans a copy of a default route with another metric.
    /// - Parameter own: addresses of the route's interface and family.
    private mutating func copy(_ route: DefaultRoute, _ own: [InterfaceAddress], metric: Int) {
        // The source is an address of this station in the gateway's network.
        let source = own.first { address in
            guard let gateway = route.gateway.flatMap({ IPAddress(bytes: $0) }) else { return true }
            return IPAddress(bytes: address.bytes)?.shares(prefix: address.prefixLength, with: gateway) ?? false
        }
        let ipv4Source = route.family == .ipv4 ? source.flatMap { IPAddress(bytes: $0.bytes) } : nil
        routes.insert(
            OwnRoute(
                route.family, through: route.gateway, on: route.index, table: RT_TABLE_MAIN.rawValue, metric: metric,
                source: ipv4Source))
    }

    private func onLink(_ address: InterfaceAddress, _ source: IPAddress, table: UInt32, metric: Int = 0) -> OwnRoute {
        OwnRoute(
            address.family, to: address.bytes, prefixLength: address.prefixLength, through: nil, on: address.index,
            table: table, metric: metric, source: source.isIPv4 ? source : nil)
    }
}

/// A route with the agent's mark, which identifies leftovers of a killed agent.
public struct OwnRoute: Hashable, Sendable {
    let family: AddressFamily
    /// First address of the destination prefix.
    let destination: [UInt8]
    let prefixLength: Int
    let gateway: [UInt8]?
    let index: Int
    let table: UInt32
    let metric: Int
    /// Preferred source address. The kernel removes the route together with this address.
    var source: IPAddress?

    /// Creator of the agent's routes and rules (`rtm_protocol`, `FRA_PROTOCOL`): a number unused by other programs
    /// (rtnetlink.h, /etc/iproute2/rt_protos).
    static let maker: UInt8 = 175

    /// - Parameter address: any address of the destination; nil for all.
    init(
        _ family: AddressFamily, to address: [UInt8]? = nil, prefixLength: Int = 0, through gateway: [UInt8]?,
        on index: Int, table: UInt32, metric: Int = 0, source: IPAddress? = nil
    ) {
        self.family = family
        destination = (address ?? Array(repeating: 0, count: family.byteCount)).prefix(bits: prefixLength)
        self.prefixLength = prefixLength
        self.gateway = gateway
        self.index = index
        self.table = table
        // Default metric of the kernel for IPv6 routes (ipv6_route.h, `IP6_RT_PRIO_USER`).
        self.metric = metric == 0 && family == .ipv6 ? 1024 : metric
        self.source = source
    }

    init?(_ report: RouteDescription) {
        guard report.maker == Self.maker, let hop = report.hops.first, report.hops.count == 1 else { return nil }
        self.init(
            report.family, to: report.destination?.bytes, prefixLength: report.prefixLength, through: hop.gateway,
            on: hop.index, table: report.table, metric: report.metric, source: report.source)
    }
}

/// A rule that sends packets from one of the device's addresses to its own table.
public struct OwnRule: Hashable, Sendable {
    let source: IPAddress
    let table: UInt32
    /// Priority of the rule. The kernel tries lower values first. The main table has 32766.
    let priority: UInt32
    /// True to ignore default routes of the table (`FRA_SUPPRESS_PREFIXLEN`).
    let skipsDefaultRoutes: Bool

    init?(_ message: NetlinkMessage, maker: UInt8 = OwnRoute.maker) {
        // struct fib_rule_hdr: family, lengths of destination and source, type of service, table, two reserved bytes,
        // action, flags.
        var reader = ByteReader(message.payload)
        guard Int(message.type) == RTM_NEWRULE, reader.read(8) != nil, reader.read(UInt32.self) != nil else {
            return nil
        }
        let attributes = Attributes(reader.rest)
        guard attributes[FRA_PROTOCOL]?.number(as: UInt8.self) == maker,
            let source = attributes[FRA_SRC].flatMap({ IPAddress(bytes: $0.bytes) }),
            let table = attributes[FRA_TABLE]?.number(as: UInt32.self),
            let priority = attributes[FRA_PRIORITY]?.number(as: UInt32.self)
        else { return nil }
        self.init(
            from: source, table: table, priority: priority,
            skipsDefaultRoutes: attributes[FRA_SUPPRESS_PREFIXLEN]?.number(as: UInt32.self) == 0)
    }

    init(from source: IPAddress, table: UInt32, priority: UInt32, skipsDefaultRoutes: Bool = false) {
        (self.source, self.table, self.priority) = (source, table, priority)
        self.skipsDefaultRoutes = skipsDefaultRoutes
    }
}

extension [UInt8] {
    /// Returns the address with all later bits cleared.
    func prefix(bits length: Int) -> [UInt8] {
        enumerated().map { position, byte in
            let kept = Swift.min(Swift.max(length - 8 * position, 0), 8)
            return kept == 0 ? 0 : byte & (0xff << UInt8(8 - kept))
        }
    }
}

extension NetlinkRequest {
    static func change(_ route: OwnRoute, isNew: Bool) -> NetlinkRequest {
        let scope = route.gateway == nil ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE
        var header: [UInt8] = [
            route.family.number, UInt8(clamping: route.prefixLength), 0, 0, UInt8(RT_TABLE_UNSPEC.rawValue),
            OwnRoute.maker, UInt8(scope.rawValue), UInt8(RTN_UNICAST),
        ]
        // The flag is set because only the interface's own table may have a route to a lease's gateway (`LeasedRoute`).
        let isOnLink = route.family == .ipv4 && route.gateway?.count == 4
        header.append(number: UInt32(isOnLink ? RTNH_F_ONLINK : 0))
        var request = NetlinkRequest(type: UInt16(isNew ? RTM_NEWROUTE : RTM_DELROUTE), fixedPart: header)
        // Without NLM_F_EXCL the kernel puts the route before another one with the same metric, here 0.
        let isTie = route.family == .ipv4 && route.metric == 0 && route.table == RT_TABLE_MAIN.rawValue
        if isNew { request.flags = isTie ? NLM_F_CREATE : NLM_F_CREATE | NLM_F_EXCL }
        if route.prefixLength > 0 { request.attributes.put(RTA_DST, bytes: route.destination) }
        if let gateway = route.gateway {
            if gateway.count == route.family.byteCount {
                request.attributes.put(RTA_GATEWAY, bytes: gateway)
            } else {
                // The gateway belongs to the other family (struct rtvia).
                var via: [UInt8] = []
                via.append(number: UInt16(AF_INET6))
                request.attributes.put(RTA_VIA, bytes: via + gateway)
            }
        }
        request.attributes.put(RTA_OIF, UInt32(clamping: route.index))
        request.attributes.put(RTA_TABLE, route.table)
        request.attributes.put(RTA_PRIORITY, UInt32(clamping: route.metric))
        if let source = route.source { request.attributes.put(RTA_PREFSRC, bytes: source.bytes) }
        return request
    }

    static func change(_ rule: OwnRule, isNew: Bool, maker: UInt8 = OwnRoute.maker) -> NetlinkRequest {
        let width = UInt8(rule.source.family.byteCount * 8)
        var header: [UInt8] = [
            rule.source.family.number, 0, width, 0, UInt8(RT_TABLE_UNSPEC.rawValue), 0, 0, UInt8(FR_ACT_TO_TBL),
        ]
        header.append(number: UInt32(0))
        var request = NetlinkRequest(type: UInt16(isNew ? RTM_NEWRULE : RTM_DELRULE), fixedPart: header)
        if isNew { request.flags = NLM_F_CREATE | NLM_F_EXCL }
        request.attributes.put(Int(FRA_SRC), bytes: rule.source.bytes)
        request.attributes.put(Int(FRA_PRIORITY), rule.priority)
        request.attributes.put(Int(FRA_TABLE), rule.table)
        if rule.skipsDefaultRoutes { request.attributes.put(Int(FRA_SUPPRESS_PREFIXLEN), UInt32(0)) }
        request.attributes.put(Int(FRA_PROTOCOL), maker)
        return request
    }

    static var rules: NetlinkRequest {
        NetlinkRequest(type: UInt16(RTM_GETRULE), fixedPart: Array(repeating: 0, count: 12))
    }

    /// Limits an interface's ARP answers and requests to its own addresses. Otherwise, two interfaces in one network
    /// answer for each other (ip-sysctl, `arp_ignore` and `arp_announce`; `IFLA_INET_CONF`).
    static func answerForOwnAddressesOnly(index: Int) -> NetlinkRequest {
        var header: [UInt8] = [UInt8(AF_UNSPEC), 0, 0, 0]
        header.append(number: Int32(clamping: index))
        header.append(number: UInt32(0))
        header.append(number: UInt32(0))
        var request = NetlinkRequest(type: UInt16(RTM_SETLINK), fixedPart: header)
        request.attributes.putNested(Int(IFLA_AF_SPEC)) { families in
            families.putNested(Int(AF_INET)) { ipv4 in
                ipv4.putNested(Int(IFLA_INET_CONF)) { settings in
                    settings.put(Int(IPV4_DEVCONF_ARP_IGNORE), UInt32(1))
                    settings.put(Int(IPV4_DEVCONF_ARP_ANNOUNCE), UInt32(2))
                }
            }
        }
        return request
    }
}
