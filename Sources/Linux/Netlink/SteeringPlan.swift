import AgentModel
import CNetlink
import Glibc

/// Routes and rules that steer traffic between two stations:
///
/// - a default route over the station in use, with a slightly lower metric than the station's own default route;
/// - for each address a rule that sends its packets over its own station, whichever is in use.
struct SteeringPlan: Equatable {
    private(set) var routes: Set<OwnRoute> = []
    private(set) var rules: Set<OwnRule> = []

    /// Table number and rule priority of the first station; the second one has the next number.
    static let firstTable: UInt32 = 25_863
    /// Amount by which the plan's route has a lower metric than the station in use. Also covers future routes of the
    /// other station's DHCP client, whose metric differs by at most the interface index.
    static let headStart = 64
    private static let linkLocal: [UInt8] = [0xfe, 0x80] + Array(repeating: 0, count: 14)
    /// Maximum number of addresses per station.
    private static let maximumAddresses = 16

    /// - Parameters:
    ///   - stations: interface indices in a fixed order; nil if missing or down.
    ///   - used: index of the station in use.
    init(stations: [Int?], used: Int?, addresses: [InterfaceAddress], defaultRoutes: [DefaultRoute]) {
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

    /// Plans rules and routes for packets from a station's addresses.
    private mutating func plan(
        _ addresses: [InterfaceAddress], _ gateway: DefaultRoute?, of station: Int, _ table: UInt32
    ) {
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

    private mutating func prefer(_ route: DefaultRoute, _ own: [InterfaceAddress], over others: [InterfaceAddress]) {
        guard route.metric > 0 else { return }
        let metric = route.metric - min(Self.headStart, (route.metric + 1) / 2)
        let main = RT_TABLE_MAIN.rawValue
        // The source is an address of this station in the gateway's network.
        let source = own.first { address in
            guard let gateway = route.gateway.flatMap({ IPAddress(bytes: $0) }) else { return true }
            return IPAddress(bytes: address.bytes)?.shares(prefix: address.prefixLength, with: gateway) ?? false
        }
        let ipv4Source = route.family == .ipv4 ? source.flatMap { IPAddress(bytes: $0.bytes) } : nil
        routes.insert(
            OwnRoute(
                route.family, through: route.gateway, on: route.index, table: main, metric: metric, source: ipv4Source))
        // If both networks have the same prefix, on-link addresses belong to the station in use.
        for address in own where address.family == .ipv4 {
            guard let source = IPAddress(bytes: address.bytes), source.isPrivate,
                others.contains(where: { other in
                    guard let there = IPAddress(bytes: other.bytes) else { return false }
                    return source.shares(prefix: min(address.prefixLength, other.prefixLength), with: there)
                })
            else { continue }
            routes.insert(onLink(address, source, table: main, metric: metric))
        }
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
        self.init(from: source, table: table, priority: priority)
    }

    init(from source: IPAddress, table: UInt32, priority: UInt32) {
        (self.source, self.table, self.priority) = (source, table, priority)
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
        if isNew { request.flags = NLM_F_CREATE | NLM_F_EXCL }
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
