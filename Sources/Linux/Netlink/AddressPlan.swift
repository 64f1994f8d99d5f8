import AgentModel
import CNetlink
import Glibc

/// The IPv4 address of an interface, and its routes.
///
/// The main table gets only the default route, and the network route of a private network or of an owner-set address.
/// Other routes go into the interface's own table, which the kernel uses only for packets from this address. So a
/// server can divert traffic of a VPN or a cable (CVE-2024-3661, CVE-2023-36672) only for a private network.
public struct AddressPlan: Hashable, Sendable {
    let address: IPAddress
    let prefixLength: Int
    let index: Int
    /// Remaining lifetime in seconds, after which the kernel removes the address; `UInt32.max`: unlimited.
    let seconds: UInt32
    let metric: Int
    /// Routes of the lease in the order of adding: first on-link routes, which the others need; last the default route.
    let routes: [LeasedRoute]
    /// True if the kernel adds the address's network route to the main table.
    let hasNetworkRoute: Bool
    /// Rule that sends packets from the address to the interface's own table; nil if that table is empty.
    let rule: OwnRule?

    /// Maximum lifetime in seconds: the kernel uses a signed 32-bit number.
    private static let longest = Int64(Int32.max)

    public struct Destination: Hashable, Sendable {
        let network: IPAddress
        let prefixLength: Int
        let gateway: IPAddress?

        public init(network: IPAddress, prefixLength: Int, gateway: IPAddress?) {
            (self.network, self.prefixLength, self.gateway) = (network, prefixLength, gateway)
        }
    }

    /// - Parameters:
    ///   - duration: lifetime, at least one second; nil: unlimited, for an address that the owner has set.
    ///   - gateway: default gateway; may be outside the address's network.
    ///   - mtu: MTU of routes through gateways, in bytes; nil: the link's.
    public init(
        address: IPAddress, prefixLength: Int, on index: Int, lasting duration: Duration?, gateway: IPAddress?,
        destinations: [Destination] = [], metric: Int, mtu: Int? = nil
    ) {
        (self.address, self.prefixLength, self.index, self.metric) = (address, prefixLength, index, metric)
        seconds = duration.map { UInt32(clamping: min(max(1, $0.components.seconds), Self.longest)) } ?? .max
        // A malicious server can assign an address and a prefix that include any internet host.
        let hasNetworkRoute = duration == nil || address.isPrivateNetwork(prefix: prefixLength)
        self.hasNetworkRoute = hasNetworkRoute
        func route(_ to: IPAddress?, _ length: Int, by hop: IPAddress?) -> LeasedRoute {
            LeasedRoute(
                destination: to, prefixLength: length, gateway: hop, index: index, metric: metric, source: address,
                mtu: hop == nil ? nil : mtu,
                table: to == nil ? RT_TABLE_MAIN.rawValue : LeasedRoute.table(of: index))
        }
        var near = destinations.filter {
            $0.gateway == nil
                && !($0.prefixLength == prefixLength && $0.network.shares(prefix: prefixLength, with: address))
        }
        .map { route($0.network, $0.prefixLength, by: nil) }
        if let gateway, prefixLength == 32 || !gateway.shares(prefix: prefixLength, with: address) {
            near.append(route(gateway, 32, by: nil))
        }
        if !hasNetworkRoute, prefixLength < 32, let network = IPAddress(bytes: address.bytes.prefix(bits: prefixLength))
        {
            near.append(route(network, prefixLength, by: nil))
        }
        let far = destinations.filter { $0.gateway != nil }.map { route($0.network, $0.prefixLength, by: $0.gateway) }
        routes = near + far + (gateway.map { [route(nil, 0, by: $0)] } ?? [])
        let table = LeasedRoute.table(of: index)
        rule =
            near.isEmpty && far.isEmpty ? nil : OwnRule(from: address, table: table, priority: LeasedRoute.rulePriority)
    }
}

/// A route of a lease or static address, marked as DHCP. For IPv4, its source, the lease's address, distinguishes it
/// from other clients' routes. IPv6 routes have no source: the kernel requires the end of duplicate detection for one.
struct LeasedRoute: Hashable, Sendable {
    /// Destination of the route; nil for the default route.
    let destination: IPAddress?
    let prefixLength: Int
    let gateway: IPAddress?
    let index: Int
    let metric: Int
    let source: IPAddress
    let mtu: Int?
    let table: UInt32

    static let maker: UInt8 = 16
    /// First number of the interfaces' own tables, in a range that other programs do not use.
    private static let firstTable: UInt32 = 175_000_000
    /// Priority of the rule. It applies before the rules of `SteeringPlan`, whose tables have a default route.
    static let rulePriority = SteeringPlan.firstTable - 1

    static func table(of index: Int) -> UInt32 { firstTable + UInt32(clamping: min(index, Int(Int32.max))) }

    /// Index of the interface that owns a table; nil for other tables.
    static func index(ofTable table: UInt32) -> UInt32? {
        (firstTable...firstTable + UInt32(Int32.max)).contains(table) ? table - firstTable : nil
    }

    /// Compares everything but the MTU, which `RouteDescription` does not read.
    func isSamePath(as other: LeasedRoute) -> Bool {
        destination == other.destination && prefixLength == other.prefixLength && gateway == other.gateway
            && index == other.index && metric == other.metric && source == other.source && table == other.table
    }

    init(
        destination: IPAddress?, prefixLength: Int, gateway: IPAddress?, index: Int, metric: Int, source: IPAddress,
        mtu: Int?, table: UInt32
    ) {
        (self.destination, self.prefixLength, self.gateway) = (destination, prefixLength, gateway)
        (self.index, self.metric, self.source, self.mtu, self.table) = (index, metric, source, mtu, table)
    }

    /// - Returns: nil for a route that is not from a lease at this interface.
    init?(_ report: RouteDescription, on index: Int) {
        guard report.maker == Self.maker, report.family == .ipv4,
            report.isGeneral || report.table == Self.table(of: index), let source = report.source,
            let hop = report.hops.first, report.hops.count == 1, hop.index == index
        else { return nil }
        self.init(
            destination: report.destination, prefixLength: report.prefixLength,
            gateway: hop.gateway.flatMap { IPAddress(bytes: $0) }, index: index, metric: report.metric, source: source,
            mtu: nil, table: report.table)
    }
}

struct LeasedAddress: Hashable {
    let address: IPAddress
    let prefixLength: Int
    /// True if the address has the agent's mark. Always false before Linux 5.18.
    let isMarked: Bool

    /// - Returns: nil for IPv6, another interface, or an address with neither a lifetime nor the agent's mark.
    init?(_ message: NetlinkMessage, on index: Int) {
        guard Int(message.type) == RTM_NEWADDR, let report = InterfaceAddress(message.payload), report.index == index,
            report.family == .ipv4, let address = IPAddress(bytes: report.bytes)
        else { return nil }
        let attributes = message.attributes(after: 8)
        // struct ifa_cacheinfo: preferred and valid lifetimes in seconds; all bits set means unlimited.
        var times = ByteReader(attributes[IFA_CACHEINFO]?.bytes ?? [])
        guard times.read(UInt32.self) != nil, let valid = times.read(UInt32.self) else { return nil }
        (self.address, prefixLength) = (address, report.prefixLength)
        isMarked = attributes[IFA_PROTO]?.number(as: UInt8.self) == OwnRoute.maker
        guard isMarked || valid != .max else { return nil }
    }
}

extension NetlinkRequest {
    static func set(_ plan: AddressPlan) -> NetlinkRequest {
        var request = address(plan.address, prefixLength: plan.prefixLength, on: plan.index, type: RTM_NEWADDR)
        request.flags = NLM_F_CREATE | NLM_F_REPLACE
        if plan.prefixLength <= 30 {
            let hosts: UInt32 = .max >> UInt32(clamping: plan.prefixLength)
            let last = zip(plan.address.bytes, stride(from: 24, through: 0, by: -8)).map { byte, shift in
                byte | UInt8(truncatingIfNeeded: hosts >> UInt32(shift))
            }
            request.attributes.put(Int(IFA_BROADCAST), bytes: last)
        }
        // struct ifa_cacheinfo: preferred and valid lifetimes, and two times that the kernel fills in.
        var times: [UInt8] = []
        for time in [plan.seconds, plan.seconds, 0, 0] { times.append(number: time) }
        request.attributes.put(Int(IFA_CACHEINFO), bytes: times)
        if !plan.hasNetworkRoute { request.attributes.put(Int(IFA_FLAGS), UInt32(IFA_F_NOPREFIXROUTE)) }
        request.attributes.put(Int(IFA_RT_PRIORITY), UInt32(clamping: plan.metric))
        request.attributes.put(Int(IFA_PROTO), OwnRoute.maker)
        return request
    }

    static func remove(_ address: IPAddress, prefixLength: Int, on index: Int) -> NetlinkRequest {
        Self.address(address, prefixLength: prefixLength, on: index, type: RTM_DELADDR)
    }

    private static func address(
        _ address: IPAddress, prefixLength: Int, on index: Int, type: Int
    ) -> NetlinkRequest {
        var header: [UInt8] = [
            address.family.number, UInt8(clamping: prefixLength), 0, UInt8(RT_SCOPE_UNIVERSE.rawValue),
        ]
        header.append(number: UInt32(clamping: index))
        var request = NetlinkRequest(type: UInt16(type), fixedPart: header)
        request.attributes.put(Int(IFA_LOCAL), bytes: address.bytes)
        request.attributes.put(Int(IFA_ADDRESS), bytes: address.bytes)
        return request
    }

    /// Adds a route beside others to the same destination, or removes it (`struct rtmsg`).
    static func change(_ route: LeasedRoute, isNew: Bool) -> NetlinkRequest {
        let scope = route.gateway == nil ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE
        var header: [UInt8] = [
            route.source.family.number, UInt8(clamping: route.prefixLength), 0, 0, UInt8(RT_TABLE_UNSPEC.rawValue),
            LeasedRoute.maker, UInt8(scope.rawValue), UInt8(RTN_UNICAST),
        ]
        // Set for IPv4, because the kernel does not search the interface's own table for the route to the gateway. For
        // IPv6 the kernel would search the routes of other interfaces, too, and refuse the gateway.
        header.append(number: UInt32(route.gateway == nil || !route.source.isIPv4 ? 0 : RTNH_F_ONLINK))
        var request = NetlinkRequest(type: UInt16(isNew ? RTM_NEWROUTE : RTM_DELROUTE), fixedPart: header)
        // Omits NLM_F_REPLACE, which would replace another interface's route, and NLM_F_EXCL, which would refuse a
        // second one.
        if isNew { request.flags = NLM_F_CREATE }
        if let destination = route.destination { request.attributes.put(RTA_DST, bytes: destination.bytes) }
        if let gateway = route.gateway { request.attributes.put(RTA_GATEWAY, bytes: gateway.bytes) }
        request.attributes.put(RTA_OIF, UInt32(clamping: route.index))
        request.attributes.put(RTA_TABLE, route.table)
        request.attributes.put(RTA_PRIORITY, UInt32(clamping: route.metric))
        if route.source.isIPv4 { request.attributes.put(RTA_PREFSRC, bytes: route.source.bytes) }
        if let mtu = route.mtu {
            request.attributes.putNested(Int(RTA_METRICS.rawValue)) { $0.put(Int(RTAX_MTU), UInt32(clamping: mtu)) }
        }
        return request
    }
}
