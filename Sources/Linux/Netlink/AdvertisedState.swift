import AgentModel
import CNetlink
import Glibc

// IPv6 state of an interface in rtnetlink messages and requests.

/// DHCPv6 flags of router advertisements (RFC 4861, 4.2).
public struct RouterFlags: Hashable, Sendable {
    /// Addresses are available by DHCPv6 (M flag).
    public let isManaged: Bool
    /// Other configuration is available by DHCPv6 (O flag).
    public let hasOther: Bool

    public init(isManaged: Bool, hasOther: Bool) { (self.isManaged, self.hasOther) = (isManaged, hasOther) }

    /// Reads `RTM_NEWLINK`, of IPv6 or of the whole link.
    /// - Returns: nil for another link, or without IPv6 flags.
    init?(_ message: NetlinkMessage, on index: Int) {
        guard Int(message.type) == RTM_NEWLINK, let family = message.payload.first,
            [UInt8(AF_UNSPEC), UInt8(AF_INET6)].contains(family),
            AttributeValue(bytes: message.payload.dropFirst(4)).number(as: Int32.self).map(Int.init) == index
        else { return nil }
        let attributes = message.attributes(after: 16)
        let part =
            family == UInt8(AF_INET6) ? attributes[IFLA_PROTINFO] : attributes[IFLA_AF_SPEC]?.nested[Int(AF_INET6)]
        guard let flags = part?.nested[IFLA_INET6_FLAGS]?.number(as: UInt32.self) else { return nil }
        self.init(isManaged: flags & Self.managed != 0, hasOther: flags & Self.other != 0)
    }

    private static let managed: UInt32 = 0x40
    private static let other: UInt32 = 0x80
}

/// A router advertisement option for user space (`RTM_NEWNDUSEROPT`).
struct AdvertisedOption: Equatable {
    let bytes: [UInt8]
    let router: IPAddress

    /// Reads `struct nduseroptmsg`.
    /// - Returns: nil for another link or another ICMPv6 message.
    init?(_ message: NetlinkMessage, on index: Int) {
        guard Int(message.type) == RTM_NEWNDUSEROPT else { return nil }
        var reader = ByteReader(message.payload)
        guard reader.read(UInt8.self) == UInt8(AF_INET6), reader.read(UInt8.self) != nil,
            let length = reader.read(UInt16.self), reader.read(Int32.self).map(Int.init) == index,
            reader.read(UInt8.self) == Self.advertisement, reader.read(7) != nil,
            let option = reader.read(Int(length))
        else { return nil }
        reader.skipPadding(after: option.count)
        guard let source = Attributes(reader.rest)[NDUSEROPT_SRCADDR]?.bytes, let router = IPAddress(bytes: source)
        else { return nil }
        (bytes, self.router) = (Array(option), router)
    }

    /// ICMPv6 type of router advertisements.
    private static let advertisement: UInt8 = 134
}

/// An IPv6 address of an interface (`struct ifaddrmsg`), with its origin and state.
struct IPv6InterfaceAddress: Hashable {
    let address: IPAddress
    let prefixLength: Int
    let isUsable: Bool
    /// True if another host uses the address.
    let isDuplicate: Bool
    let origin: Origin

    enum Origin: Hashable {
        /// The kernel formed the address from an advertised prefix.
        case advertised
        case own
        case other
    }

    init?(_ message: NetlinkMessage, on index: Int) {
        guard [RTM_NEWADDR, RTM_DELADDR].contains(Int(message.type)), let report = InterfaceAddress(message.payload),
            report.family == .ipv6, report.index == index, let address = IPAddress(bytes: report.bytes)
        else { return nil }
        let attributes = message.attributes(after: 8)
        let flags = attributes[IFA_FLAGS]?.number(as: UInt32.self) ?? UInt32(message.payload.dropFirst(2).first ?? 0)
        func has(_ flag: Int32) -> Bool { flags & UInt32(flag) != 0 }
        (self.address, prefixLength) = (address, report.prefixLength)
        isDuplicate = has(IFA_F_DADFAILED)
        isUsable = !report.isTentative
        let maker = attributes[IFA_PROTO]?.number(as: UInt8.self) ?? 0
        origin =
            switch maker {
            case OwnRoute.maker: .own
            // The kernel stores the origin since Linux 5.18, and the origin of temporary addresses since 6.x.
            case 0: !has(IFA_F_PERMANENT) && has(IFA_F_MANAGETEMPADDR | IFA_F_SECONDARY) ? .advertised : .other
            case Self.advertisement: .advertised
            default: .other
            }
    }

    private static let advertisement: UInt8 = 2
}

/// A route from router advertisements (default route, more specific route), the kernel's on-link route of a prefix, or
/// a route of a static address.
struct AdvertisedRoute: Hashable {
    let destination: IPAddress?
    let prefixLength: Int
    let gateway: [UInt8]?
    let metric: Int
    let maker: UInt8
    let table: UInt32
    /// True for the kernel's on-link route of an advertised prefix or of a user's address. The expiry does not
    /// distinguish them: an advertised prefix can have an unlimited lifetime.
    let isOfPrefix: Bool

    init?(_ message: NetlinkMessage, on index: Int) {
        guard Int(message.type) == RTM_NEWROUTE, let report = RouteDescription(message.payload), report.family == .ipv6,
            report.type == RTN_UNICAST, report.isGeneral, let hop = report.hops.first, hop.index == index,
            report.destination.map({ !$0.isLinkLocal && !$0.isMulticast }) ?? true
        else { return nil }
        // struct rta_cacheinfo: the third number is the expiry.
        let ends = message.attributes(after: 12)[RTA_CACHEINFO].flatMap {
            AttributeValue(bytes: $0.bytes.dropFirst(8)).number(as: Int32.self)
        }
        isOfPrefix = report.maker == UInt8(RTPROT_KERNEL) && hop.gateway == nil && report.prefixLength < 128
        let isOfStaticAddress = report.maker == LeasedRoute.maker && ends ?? 0 == 0
        guard report.maker == UInt8(RTPROT_RA) || isOfPrefix || isOfStaticAddress else { return nil }
        (destination, prefixLength, gateway) = (report.destination, report.prefixLength, hop.gateway)
        (metric, maker, table) = (report.metric, report.maker, report.table)
    }

    /// True if the on-link route is of the address's prefix.
    func leads(to address: IPv6InterfaceAddress) -> Bool {
        destination?.shares(prefix: prefixLength, with: address.address) ?? false
            && prefixLength == address.prefixLength
    }

    /// True for the same route of a static address.
    func isSame(as route: LeasedRoute) -> Bool {
        maker == LeasedRoute.maker && destination == route.destination && prefixLength == route.prefixLength
            && gateway == route.gateway?.bytes && metric == route.metric
    }
}

/// An IPv6 address from DHCPv6, or a static one with its routes.
public struct IPv6AddressPlan: Hashable, Sendable {
    let address: IPAddress
    let prefixLength: Int
    /// Remaining preferred lifetime in seconds; `UInt32.max`: unlimited.
    let preferred: UInt32
    let valid: UInt32
    /// Prefix route and default route of a static address, in the order of adding.
    let routes: [LeasedRoute]
    /// False to use the address without duplicate detection.
    let detectsDuplicates: Bool

    /// - Parameter valid: remaining lifetime, at least one second, after which the kernel removes the address.
    public init(_ address: IPAddress, preferred: Duration, valid: Duration) {
        (self.address, prefixLength, routes, detectsDuplicates) = (address, 128, [], true)
        self.valid = UInt32(clamping: max(1, valid.components.seconds))
        self.preferred = min(UInt32(clamping: max(0, preferred.components.seconds)), self.valid)
    }

    /// - Parameters:
    ///   - fixed: IPv6 address that the owner has set.
    ///   - metric: metric of the routes. For IPv6 the kernel replaces 0 by 1024, so 0 counts as 1.
    ///   - detectsDuplicates: false to use the address without duplicate detection.
    public init(_ fixed: StaticAddress, on index: Int, metric: Int, detectsDuplicates: Bool = true) {
        let address = fixed.address
        self.detectsDuplicates = detectsDuplicates
        (self.address, prefixLength, preferred, valid) = (address, fixed.prefixLength, .max, .max)
        func route(_ to: IPAddress?, _ length: Int, by gateway: IPAddress?) -> LeasedRoute {
            LeasedRoute(
                destination: to, prefixLength: length, gateway: gateway, index: index, metric: max(1, metric),
                source: address, mtu: nil, table: RT_TABLE_MAIN.rawValue)
        }
        let network = prefixLength < 128 ? IPAddress(bytes: address.bytes.prefix(bits: prefixLength)) : nil
        routes =
            (network.map { [route($0, fixed.prefixLength, by: nil)] } ?? [])
            + (fixed.gateway.map { [route(nil, 0, by: $0)] } ?? [])
    }

    /// True if the kernel can update the one address to the other. A new duplicate detection needs a new address.
    func isSameAddress(as other: IPv6AddressPlan) -> Bool {
        address == other.address && prefixLength == other.prefixLength && detectsDuplicates == other.detectsDuplicates
    }
}

extension NetlinkRequest {
    static func dumpIPv6(_ subject: RouteSubject) -> NetlinkRequest {
        let (type, length) = subject == .routes ? (RTM_GETROUTE, 12) : (RTM_GETADDR, 8)
        return NetlinkRequest(
            type: UInt16(type), fixedPart: [UInt8(AF_INET6)] + [UInt8](repeating: 0, count: length - 1))
    }

    static func link(_ index: Int) -> NetlinkRequest {
        var header = [UInt8](repeating: 0, count: 4)
        header.append(number: Int32(clamping: index))
        return NetlinkRequest(type: UInt16(RTM_GETLINK), fixedPart: header + [UInt8](repeating: 0, count: 8))
    }

    /// Adds an address, or updates its lifetimes. A DHCPv6 address has the prefix /128, because only router
    /// advertisements say which addresses are on the link (RFC 5942, 4). A static address has a prefix route of its
    /// own: the kernel would share one with advertised addresses, and leave it behind.
    static func set(_ plan: IPv6AddressPlan, on index: Int) -> NetlinkRequest {
        var request = address(plan.address, prefixLength: plan.prefixLength, on: index, type: RTM_NEWADDR)
        request.flags = NLM_F_CREATE | NLM_F_REPLACE
        // An optimistic address is usable during duplicate detection, if the interface allows it (RFC 4429).
        let detection = plan.detectsDuplicates ? IFA_F_OPTIMISTIC : IFA_F_NODAD
        request.attributes.put(Int(IFA_FLAGS), UInt32(IFA_F_NOPREFIXROUTE | detection))
        // struct ifa_cacheinfo: preferred and valid lifetimes, and two times that the kernel fills in.
        var times: [UInt8] = []
        for time in [plan.preferred, plan.valid, 0, 0] { times.append(number: time) }
        request.attributes.put(Int(IFA_CACHEINFO), bytes: times)
        request.attributes.put(Int(IFA_PROTO), OwnRoute.maker)
        return request
    }

    static func removeIPv6(_ address: IPAddress, prefixLength: Int, on index: Int) -> NetlinkRequest {
        Self.address(address, prefixLength: prefixLength, on: index, type: RTM_DELADDR)
    }

    private static func address(_ address: IPAddress, prefixLength: Int, on index: Int, type: Int) -> NetlinkRequest {
        var header: [UInt8] = [UInt8(AF_INET6), UInt8(clamping: prefixLength), 0, UInt8(RT_SCOPE_UNIVERSE.rawValue)]
        header.append(number: UInt32(clamping: index))
        var request = NetlinkRequest(type: UInt16(type), fixedPart: header)
        request.attributes.put(Int(IFA_LOCAL), bytes: address.bytes)
        return request
    }

    static func remove(_ route: AdvertisedRoute, on index: Int) -> NetlinkRequest {
        var header: [UInt8] = [
            UInt8(AF_INET6), UInt8(clamping: route.prefixLength), 0, 0, UInt8(RT_TABLE_MAIN.rawValue), route.maker,
            UInt8(RT_SCOPE_UNIVERSE.rawValue), UInt8(RTN_UNICAST),
        ]
        header.append(number: UInt32(0))
        var request = NetlinkRequest(type: UInt16(RTM_DELROUTE), fixedPart: header)
        if let destination = route.destination { request.attributes.put(RTA_DST, bytes: destination.bytes) }
        if let gateway = route.gateway { request.attributes.put(RTA_GATEWAY, bytes: gateway) }
        request.attributes.put(RTA_OIF, UInt32(clamping: index))
        request.attributes.put(RTA_PRIORITY, UInt32(clamping: route.metric))
        return request
    }
}
