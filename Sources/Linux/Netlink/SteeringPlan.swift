import AgentModel
import CNetlink
import Glibc

/// The routes and rules that two stations need so that the one in use carries the traffic, and the other one what was
/// begun over it:
///
/// - a default route over the station in use that comes before both stations' own, and after those that come before
///   them;
/// - for each address of a station a rule by which its packets leave by that station, whichever is in use.
struct SteeringPlan: Equatable {
    private(set) var routes: Set<OwnRoute> = []
    private(set) var rules: Set<OwnRule> = []

    /// Tables and priorities of rules: this for the first station, and one more for the second.
    static let firstTable: UInt32 = 25_863
    /// By so much the route over the station in use comes before a station's own: also before one that the DHCP client
    /// is only about to make for the other station, whose metric differs by the number of the interface at most.
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

    /// Plans the packets that leave with one of a station's addresses.
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
            guard let source = IPAddress(bytes: address.bytes), source.isPrivate,
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

/// A route that the agent makes itself. It bears the agent's mark, so that what a killed agent left behind is known.
public struct OwnRoute: Hashable, Sendable {
    let family: AddressFamily
    /// Its destination: the addresses that begin with these bits; all of them if `prefixLength` is 0.
    let destination: [UInt8]
    let prefixLength: Int
    /// Nil where the destination is on the link.
    let gateway: [UInt8]?
    /// The interface it goes out by.
    let index: Int
    let table: UInt32
    /// Lower is preferred.
    let metric: Int
    /// The address for packets that have none yet; with it the route goes.
    var source: IPAddress?

    /// `rtm_protocol` and `FRA_PROTOCOL`: a number that no other program uses (rtnetlink.h, /etc/iproute2/rt_protos).
    static let maker: UInt8 = 175

    /// - Parameter address: any of those that it leads to; nil for all of them.
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
        // The kernel gives IPv6 routes without a metric this one (ipv6_route.h, `IP6_RT_PRIO_USER`).
        self.metric = metric == 0 && family == .ipv6 ? 1024 : metric
        self.source = source
    }

    /// - Returns: nil for a route of another program.
    init?(_ report: RouteReport) {
        guard report.maker == Self.maker, let hop = report.hops.first, report.hops.count == 1 else { return nil }
        self.init(
            report.family, to: report.destination?.bytes, prefixLength: report.prefixLength, through: hop.gateway,
            on: hop.index, table: report.table, metric: report.metric, source: report.source)
    }
}

/// A rule of the agent's own: packets with this address of the device's as their source go by a table of their own.
public struct OwnRule: Hashable, Sendable {
    let source: IPAddress
    let table: UInt32
    /// Lower comes first. The main table has 32766.
    let priority: UInt32

    /// - Returns: nil for a rule of another program.
    init?(_ message: NetlinkMessage, maker: UInt8 = OwnRoute.maker) {
        // struct fib_rule_hdr: family, lengths of the destination and the source, type of service, table, two reserved
        // bytes, action, flags.
        var reader = ByteReader(message.payload)
        guard Int(message.type) == RTM_NEWRULE, reader.take(8) != nil, reader.take(UInt32.self) != nil else {
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
    /// The address with all further bits zero.
    func prefix(bits length: Int) -> [UInt8] {
        enumerated().map { position, byte in
            let kept = Swift.min(Swift.max(length - 8 * position, 0), 8)
            return kept == 0 ? 0 : byte & (0xff << UInt8(8 - kept))
        }
    }
}

extension NetlinkRequest {
    /// Makes a route, or takes it away (`struct rtmsg`).
    static func change(_ route: OwnRoute, isNew: Bool) -> NetlinkRequest {
        let scope = route.gateway == nil ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE
        var header: [UInt8] = [
            route.family.number, UInt8(clamping: route.prefixLength), 0, 0, UInt8(RT_TABLE_UNSPEC.rawValue),
            OwnRoute.maker, UInt8(scope.rawValue), UInt8(RTN_UNICAST),
        ]
        // The gateway of a lease may be on the link by the interface's own table alone (`LeasedRoute`).
        let isOnLink = route.family == .ipv4 && route.gateway?.count == 4
        header.append(number: UInt32(isOnLink ? RTNH_F_ONLINK : 0))
        var request = NetlinkRequest(type: UInt16(isNew ? RTM_NEWROUTE : RTM_DELROUTE), fixedPart: header)
        if isNew { request.flags = NLM_F_CREATE | NLM_F_EXCL }
        if route.prefixLength > 0 { request.attributes.put(RTA_DST, bytes: route.destination) }
        if let gateway = route.gateway {
            if gateway.count == route.family.byteCount {
                request.attributes.put(RTA_GATEWAY, bytes: gateway)
            } else {
                // One of the other family (struct rtvia).
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

    /// Makes a rule, or takes it away (fib_rules.h, `struct fib_rule_hdr`).
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

    /// Asks for all rules, of every family.
    static var rules: NetlinkRequest {
        NetlinkRequest(type: UInt16(RTM_GETRULE), fixedPart: Array(repeating: 0, count: 12))
    }

    /// Has an interface answer for its own addresses only, and ask in their name only: two that are in one network
    /// would else answer for each other (ip-sysctl, `arp_ignore` and `arp_announce`; `IFLA_INET_CONF`).
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
