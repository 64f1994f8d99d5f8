import AgentModel
import CNetlink
import Glibc

/// The route to an address, found by the kernel with all tables, rules and metrics (`RTM_GETROUTE`).
public struct RouteLookup: Hashable, Sendable {
    public let index: Int
    /// Address of the gateway; nil if the address is on the link, or the link has no gateways.
    public let gateway: IPAddress?
    /// True if the address belongs to the device.
    public let isLocal: Bool

    init(index: Int, gateway: IPAddress?, isLocal: Bool) {
        (self.index, self.gateway, self.isLocal) = (index, gateway, isLocal)
    }

    /// - Returns: nil if packets would be dropped.
    init?(_ payload: ArraySlice<UInt8>) {
        guard let report = RouteDescription(payload), let hop = report.hops.first else { return nil }
        switch report.type {
        case RTN_UNICAST, RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST, RTN_MULTICAST: break
        default: return nil
        }
        index = hop.index
        gateway = hop.gateway.flatMap { IPAddress(bytes: $0) }
        isLocal = report.type == RTN_LOCAL
    }
}

extension RouteMonitor {
    /// Asks the kernel for the route to an address. Sends no packets there.
    /// - Returns: nil without a route.
    public func routeLookup(to address: IPAddress) async throws(NetlinkError) -> RouteLookup? {
        do throws(NetlinkError) {
            return try await socket.reply(to: .routeLookup(to: address), attempting: "find the route to \(address)") {
                message in
                Int(message.type) == RTM_NEWROUTE ? RouteLookup(message.payload) : nil
            }
        } catch {
            guard RouteLookup.meansNone(error) else { throw error }
            return nil
        }
    }
}

extension RouteLookup {
    /// True if the error means "no route": unreachable, prohibited, black hole, or a kernel without IPv6.
    static func meansNone(_ error: NetlinkError) -> Bool {
        [ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, EAFNOSUPPORT, EOPNOTSUPP].contains(error.errno)
    }
}

/// A message about a route (rtnetlink.h, `struct rtmsg`).
struct RouteDescription: Equatable {
    let family: AddressFamily
    let prefixLength: Int
    /// Prefix length of the source; 0 for any source.
    let sourceLength: Int
    let destination: IPAddress?
    /// Type of the route, `RTN_*`.
    let type: Int
    let table: UInt32
    let metric: Int
    /// Creator of the route, `RTPROT_*`.
    let maker: UInt8
    /// Preferred source address.
    let source: IPAddress?
    /// Next hops; more than one for multipath routes.
    let hops: [Hop]

    struct Hop: Equatable {
        let index: Int
        let gateway: [UInt8]?
    }

    /// - Returns: nil for families other than IPv4 and IPv6, and for a destination of another family, which an address
    ///   of IPv4 that is written as one of IPv6 is too.
    init?(_ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        guard let family = reader.read(UInt8.self).flatMap(AddressFamily.init), let length = reader.read(UInt8.self),
            let sourceLength = reader.read(UInt8.self),
            reader.read(UInt8.self) != nil,  // Type of service.
            let table = reader.read(UInt8.self),
            let maker = reader.read(UInt8.self),
            reader.read(UInt8.self) != nil,  // Scope.
            let type = reader.read(UInt8.self), reader.read(UInt32.self) != nil
        else { return nil }
        let attributes = Attributes(reader.rest)
        destination = attributes[RTA_DST].flatMap { IPAddress(bytes: $0.bytes) }
        guard attributes[RTA_DST] == nil || destination?.family == family else { return nil }
        self.family = family
        self.type = Int(type)
        self.maker = maker
        prefixLength = Int(length)
        self.sourceLength = Int(sourceLength)
        self.table = attributes[RTA_TABLE]?.number() ?? UInt32(table)
        metric = attributes[RTA_PRIORITY]?.count(as: UInt32.self) ?? 0
        source = attributes[RTA_PREFSRC].flatMap { IPAddress(bytes: $0.bytes) }
        if let index = attributes[RTA_OIF]?.count(as: UInt32.self) {
            hops = [Hop(index: index, gateway: attributes.gateway)]
        } else {
            let nextHops = attributes[RTA_MULTIPATH].map { NextHops($0.bytes) }
            hops = nextHops?.map { Hop(index: $0.index, gateway: $0.attributes.gateway) } ?? []
        }
    }

    /// True for routes of the main table without a source.
    var isGeneral: Bool { table == RT_TABLE_MAIN.rawValue && sourceLength == 0 }

    /// Default routes, one per next hop.
    var defaultRoutes: [DefaultRoute] {
        guard type == RTN_UNICAST, prefixLength == 0 else { return [] }
        return hops.map { hop in
            DefaultRoute(
                family: family, gateway: hop.gateway, index: hop.index, metric: metric,
                isOwn: maker == OwnRoute.maker)
        }
    }

    var hostRoute: HostRoute? {
        guard type == RTN_UNICAST, prefixLength == family.byteCount * 8, let destination, let hop = hops.first,
            hop.gateway != nil
        else { return nil }
        return HostRoute(destination: destination, index: hop.index, metric: metric)
    }
}

extension Attributes {
    /// Gateway. RTA_VIA holds a gateway of the other family, after a two-byte family number.
    fileprivate var gateway: [UInt8]? {
        (self[RTA_GATEWAY]?.bytes ?? self[RTA_VIA]?.bytes.dropFirst(2)).map { Array($0) }
    }
}

/// Next hops of a multipath route (rtnetlink.h, `struct rtnexthop`).
private struct NextHops: Sequence, IteratorProtocol {
    private var reader: ByteReader

    init(_ bytes: ArraySlice<UInt8>) { reader = ByteReader(bytes) }

    mutating func next() -> (index: Int, attributes: Attributes)? {
        guard let length = reader.read(UInt16.self), reader.read(UInt16.self) != nil,
            let index = reader.read(Int32.self),
            let attributes = reader.read(Int(length) - 8)
        else { return nil }
        reader.skipPadding(after: attributes.count)
        return (Int(index), Attributes(attributes))
    }
}
