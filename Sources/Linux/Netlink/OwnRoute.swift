import AgentModel
import CNetlink
import Glibc

/// A route that the agent makes itself. It bears the agent's mark, so that what a killed agent left behind is known.
public struct OwnRoute: Hashable, Sendable {
    let family: AddressFamily
    /// Where it leads: the addresses that begin with these bits; all of them where `prefixLength` is 0.
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

    /// `rtm_protocol` and `FRA_PROTOCOL`: a number that nobody else uses (rtnetlink.h, /etc/iproute2/rt_protos).
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

    /// - Returns: nil for a route of anybody else.
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

    /// - Returns: nil for a rule of anybody else.
    init?(_ message: NetlinkMessage) {
        // struct fib_rule_hdr: family, lengths of the destination and the source, type of service, table, two reserved bytes,
        // action, flags.
        var reader = ByteReader(message.payload)
        guard Int(message.type) == RTM_NEWRULE, reader.take(8) != nil, reader.take(UInt32.self) != nil else {
            return nil
        }
        let attributes = Attributes(reader.rest)
        guard attributes[FRA_PROTOCOL]?.number(as: UInt8.self) == OwnRoute.maker,
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
    fileprivate func prefix(bits length: Int) -> [UInt8] {
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
        header.append(number: UInt32(0))
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
    static func change(_ rule: OwnRule, isNew: Bool) -> NetlinkRequest {
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
        request.attributes.put(Int(FRA_PROTOCOL), OwnRoute.maker)
        return request
    }

    /// Asks for all rules, of every family.
    static var rules: NetlinkRequest {
        NetlinkRequest(type: UInt16(RTM_GETRULE), fixedPart: Array(repeating: 0, count: 12))
    }

    /// Has an interface answer for its own addresses only, and ask in their name only: two that are in one network would
    /// else answer for each other (ip-sysctl, `arp_ignore` and `arp_announce`; `IFLA_INET_CONF`).
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
