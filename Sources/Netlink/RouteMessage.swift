import CNetlink
import Glibc

/// One piece of rtnetlink's news, or of a dump, as far as it matters here.
enum RouteMessage: Equatable {
    case link(LinkReport)
    case linkRemoved(index: Int)
    case address(Address)
    case addressRemoved(Address)
    /// The default routes in it: none where it is about something else, several where it has several next hops.
    /// `replaces` where they take the place of others of their family and metric.
    case defaultRoutes([DefaultRoute], replaces: Bool)
    case defaultRoutesRemoved([DefaultRoute])

    init?(_ message: NetlinkMessage) {
        switch Int(message.type) {
        case RTM_NEWLINK, RTM_DELLINK:
            guard let report = LinkReport(message.payload) else { return nil }
            self = Int(message.type) == RTM_NEWLINK ? .link(report) : .linkRemoved(index: report.index)
        case RTM_NEWADDR, RTM_DELADDR:
            guard let address = Address(message.payload) else { return nil }
            self = Int(message.type) == RTM_NEWADDR ? .address(address) : .addressRemoved(address)
        case RTM_NEWROUTE, RTM_DELROUTE:
            let routes = DefaultRoute.routes(in: message.payload)
            guard !routes.isEmpty else { return nil }
            self =
                Int(message.type) == RTM_NEWROUTE
                ? .defaultRoutes(routes, replaces: message.has(NLM_F_REPLACE)) : .defaultRoutesRemoved(routes)
        default: return nil
        }
    }
}

/// What one message says of a link (rtnetlink.h, `struct ifinfomsg`).
struct LinkReport: Equatable {
    let index: Int
    /// Absent from what wireless extensions tell on the side.
    let name: String?
    let isUp: Bool
    let hasCarrier: Bool
    /// if_arp.h, `ARPHRD_*`.
    let hardwareType: UInt16
    /// The kind of a virtual link, such as "bridge".
    let virtualKind: String?

    init?(_ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        // Bridges tell of their ports in the same messages, under their own family: those are not links coming and going.
        guard reader.take(UInt16.self) == UInt16(AF_UNSPEC), let hardwareType = reader.take(UInt16.self),
            let index = reader.take(Int32.self), index > 0, let flags = reader.take(UInt32.self),
            reader.take(UInt32.self) != nil
        else { return nil }
        let attributes = Attributes(reader.rest)
        self.index = Int(index)
        self.hardwareType = hardwareType
        isUp = flags & UInt32(IFF_UP) != 0
        hasCarrier = flags & Self.lowerUp != 0
        name = attributes[IFLA_IFNAME]?.string
        virtualKind = attributes[IFLA_LINKINFO]?.nested[IFLA_INFO_KIND]?.string
    }

    /// `IFF_LOWER_UP` (linux/if.h, which does not go together with net/if.h).
    private static let lowerUp: UInt32 = 1 << 16
}

extension Address {
    /// Reads `struct ifaddrmsg` and its attributes.
    init?(_ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        guard let family = reader.take(UInt8.self).flatMap(AddressFamily.init),
            let prefixLength = reader.take(UInt8.self), let flags = reader.take(UInt8.self),
            let scope = reader.take(UInt8.self), let index = reader.take(UInt32.self)
        else { return nil }
        let attributes = Attributes(reader.rest)
        // On point-to-point links IFA_ADDRESS is the other end's.
        guard let bytes = (attributes[IFA_LOCAL] ?? attributes[IFA_ADDRESS])?.bytes, bytes.count == family.byteCount
        else { return nil }
        self.family = family
        self.bytes = Array(bytes)
        self.prefixLength = Int(prefixLength)
        self.scope = Scope(scope)
        self.index = Int(clamping: index)
        let allFlags = attributes[IFA_FLAGS]?.number(as: UInt32.self) ?? UInt32(flags)
        isTentative = allFlags & UInt32(IFA_F_TENTATIVE | IFA_F_DADFAILED) != 0
    }
}

extension Address.Scope {
    init(_ number: UInt8) {
        switch UInt32(number) {
        case RT_SCOPE_UNIVERSE.rawValue: self = .global
        case RT_SCOPE_SITE.rawValue: self = .site
        case RT_SCOPE_LINK.rawValue: self = .link
        case RT_SCOPE_HOST.rawValue: self = .host
        default: self = .other(number)
        }
    }
}

extension AddressFamily {
    init?(_ number: UInt8) {
        switch Int32(number) {
        case AF_INET: self = .ipv4
        case AF_INET6: self = .ipv6
        default: return nil
        }
    }
}

extension DefaultRoute {
    /// Reads `struct rtmsg` and its attributes: the routes to everywhere of the main table, one for each next hop.
    static func routes(in payload: ArraySlice<UInt8>) -> [DefaultRoute] {
        var reader = ByteReader(payload)
        guard let family = reader.take(UInt8.self).flatMap(AddressFamily.init),
            reader.take(UInt16.self) == 0,  // Lengths of the destination's and the source's prefix.
            reader.take(UInt8.self) != nil,  // Type of service.
            let table = reader.take(UInt8.self),
            reader.take(UInt16.self) != nil,  // Protocol and scope.
            let type = reader.take(UInt8.self), type == RTN_UNICAST, reader.take(UInt32.self) != nil
        else { return [] }
        let attributes = Attributes(reader.rest)
        guard (attributes[RTA_TABLE]?.number() ?? UInt32(table)) == RT_TABLE_MAIN.rawValue else { return [] }
        let metric = attributes[RTA_PRIORITY]?.count(as: UInt32.self) ?? 0

        func route(index: Int, _ hop: Attributes) -> DefaultRoute {
            DefaultRoute(family: family, gateway: hop.gateway, index: index, metric: metric)
        }
        if let index = attributes[RTA_OIF]?.count(as: UInt32.self) { return [route(index: index, attributes)] }
        return attributes[RTA_MULTIPATH].map { NextHops($0.bytes).map { route(index: $0.index, $0.attributes) } } ?? []
    }
}

extension Attributes {
    /// RTA_VIA has the gateways of the other family, after two bytes that say which.
    fileprivate var gateway: [UInt8]? {
        (self[RTA_GATEWAY]?.bytes ?? self[RTA_VIA]?.bytes.dropFirst(2)).map { Array($0) }
    }
}

/// The next hops of a route with several (rtnetlink.h, `struct rtnexthop`).
private struct NextHops: Sequence, IteratorProtocol {
    private var reader: ByteReader

    init(_ bytes: ArraySlice<UInt8>) { reader = ByteReader(bytes) }

    mutating func next() -> (index: Int, attributes: Attributes)? {
        guard let length = reader.take(UInt16.self), reader.take(UInt16.self) != nil,
            let index = reader.take(Int32.self),
            let attributes = reader.take(Int(length) - 8)
        else { return nil }
        reader.skipPadding(after: attributes.count)
        return (Int(index), Attributes(attributes))
    }
}
