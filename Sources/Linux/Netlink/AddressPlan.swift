import AgentModel
import CNetlink
import Glibc

/// The IPv4 address that a network gives an interface, and the routes that come with it.
///
/// Only the default route and the route to a private network of the address are in the main table. Those that a server
/// chooses freely are in a table of the interface's own, which counts for packets that have the address already, so that
/// no server takes a destination out of a VPN or away from a cable (CVE-2024-3661, CVE-2023-36672).
public struct AddressPlan: Hashable, Sendable {
    let address: IPAddress
    let prefixLength: Int
    /// The interface.
    let index: Int
    /// How long the address is valid from now on, in seconds; the kernel takes it away then. All ones: for ever.
    let seconds: UInt32
    /// Also of the route to the address's own network.
    let metric: Int
    /// Those on the link before those that need them, and the default route last.
    let routes: [LeasedRoute]
    /// Whether the kernel makes a route to the address's network in the main table.
    let hasNetworkRoute: Bool
    /// Has packets with the address look into the interface's own table first; nil where there is nothing in it.
    let rule: OwnRule?

    /// The kernel counts no more seconds than fit into a signed number.
    private static let longest = Int64(Int32.max)

    /// A route beside the default route.
    public struct Destination: Hashable, Sendable {
        let network: IPAddress
        let prefixLength: Int
        let gateway: IPAddress?

        /// - Parameter gateway: nil where the network is on the link.
        public init(network: IPAddress, prefixLength: Int, gateway: IPAddress?) {
            (self.network, self.prefixLength, self.gateway) = (network, prefixLength, gateway)
        }
    }

    /// - Parameters:
    ///   - duration: from now until the address ends; less than a second counts as one. Nil: it has no end, and the
    ///     device's owner has chosen it.
    ///   - gateway: of the default route; nil for none. It may lie beyond the address's network.
    ///   - mtu: of the routes through gateways, in bytes; nil for the link's.
    public init(
        address: IPAddress, prefixLength: Int, on index: Int, lasting duration: Duration?, gateway: IPAddress?,
        destinations: [Destination] = [], metric: Int, mtu: Int? = nil
    ) {
        (self.address, self.prefixLength, self.index, self.metric) = (address, prefixLength, index, metric)
        seconds = duration.map { UInt32(clamping: min(max(1, $0.components.seconds), Self.longest)) } ?? .max
        // A server that lies can give the device an address beside any host of the internet.
        let hasNetworkRoute = duration == nil || address.isPrivate
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

/// A route that a lease brings. It bears the mark of DHCP and has the lease's address as its source, so it is told from
/// another client's.
struct LeasedRoute: Hashable, Sendable {
    /// Nil for all addresses.
    let destination: IPAddress?
    let prefixLength: Int
    /// Nil where the destination is on the link.
    let gateway: IPAddress?
    let index: Int
    let metric: Int
    let source: IPAddress
    let mtu: Int?
    let table: UInt32

    /// `RTPROT_DHCP` (rtnetlink.h).
    static let maker: UInt8 = 16
    /// The tables of interfaces begin here; no other program uses these numbers.
    private static let firstTable: UInt32 = 175_000_000
    /// Before the rules of `SteeringPlan`, whose tables have a default route.
    static let rulePriority = SteeringPlan.firstTable - 1

    /// The table of an interface's own.
    static func table(of index: Int) -> UInt32 { firstTable + UInt32(clamping: min(index, Int(Int32.max))) }

    /// The interface that a table is of; nil for another table.
    static func index(ofTable table: UInt32) -> UInt32? {
        (firstTable...firstTable + UInt32(Int32.max)).contains(table) ? table - firstTable : nil
    }

    /// Whether both are the same but for the MTU, of which the kernel's reports say nothing here.
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

    /// - Returns: nil for a route that no lease at the interface has brought.
    init?(_ report: RouteReport, on index: Int) {
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

/// An address that the agent or a DHCP client has set.
struct LeasedAddress: Hashable {
    let address: IPAddress
    let prefixLength: Int
    /// Whether it bears the agent's mark. Kernels before 5.18 know none.
    let isMarked: Bool

    /// - Returns: nil for an address of IPv6, of another interface, or that has neither an end nor the agent's mark.
    init?(_ message: NetlinkMessage, on index: Int) {
        guard Int(message.type) == RTM_NEWADDR, let report = Address(message.payload), report.index == index,
            report.family == .ipv4, let address = IPAddress(bytes: report.bytes)
        else { return nil }
        // struct ifaddrmsg.
        let attributes = message.attributes(after: 8)
        // struct ifa_cacheinfo: preferred and valid time; all ones is for ever.
        var times = ByteReader(attributes[IFA_CACHEINFO]?.bytes ?? [])
        guard times.take(UInt32.self) != nil, let valid = times.take(UInt32.self) else { return nil }
        (self.address, prefixLength) = (address, report.prefixLength)
        isMarked = attributes[IFA_PROTO]?.number(as: UInt8.self) == OwnRoute.maker
        guard isMarked || valid != .max else { return nil }
    }
}

extension NetlinkRequest {
    /// Gives an interface an address, or an address that it has another end (`struct ifaddrmsg`).
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
        // struct ifa_cacheinfo: preferred and valid time, and two moments that the kernel fills in.
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

    /// Makes a route beside any other to the same place, or takes away this one (`struct rtmsg`).
    static func change(_ route: LeasedRoute, isNew: Bool) -> NetlinkRequest {
        let scope = route.gateway == nil ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE
        var header: [UInt8] = [
            UInt8(AF_INET), UInt8(clamping: route.prefixLength), 0, 0, UInt8(RT_TABLE_UNSPEC.rawValue),
            LeasedRoute.maker, UInt8(scope.rawValue), UInt8(RTN_UNICAST),
        ]
        // The way to the gateway is in the interface's own table, where the kernel does not look.
        header.append(number: UInt32(route.gateway == nil ? 0 : RTNH_F_ONLINK))
        var request = NetlinkRequest(type: UInt16(isNew ? RTM_NEWROUTE : RTM_DELROUTE), fixedPart: header)
        // Neither NLM_F_REPLACE, which would take the place of another interface's route, nor NLM_F_EXCL.
        if isNew { request.flags = NLM_F_CREATE }
        if let destination = route.destination { request.attributes.put(RTA_DST, bytes: destination.bytes) }
        if let gateway = route.gateway { request.attributes.put(RTA_GATEWAY, bytes: gateway.bytes) }
        request.attributes.put(RTA_OIF, UInt32(clamping: route.index))
        request.attributes.put(RTA_TABLE, route.table)
        request.attributes.put(RTA_PRIORITY, UInt32(clamping: route.metric))
        request.attributes.put(RTA_PREFSRC, bytes: route.source.bytes)
        if let mtu = route.mtu {
            request.attributes.putNested(Int(RTA_METRICS.rawValue)) { $0.put(Int(RTAX_MTU), UInt32(clamping: mtu)) }
        }
        return request
    }
}
