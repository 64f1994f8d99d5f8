import AgentModel
import CNetlink
import Glibc

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
    let traits: Link.Traits
    /// The interface that a virtual link is tied to.
    let lowerIndex: Int?
    let broadcast: ArraySlice<UInt8>?

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
        traits = Link.Traits(interfaceFlags: flags)
        // The number of an interface in another namespace says nothing here.
        let lower = attributes[IFLA_LINK_NETNSID] == nil ? attributes[IFLA_LINK]?.count(as: UInt32.self) : nil
        lowerIndex = lower.flatMap { $0 > 0 && $0 != Int(index) ? $0 : nil }
        broadcast = attributes[IFLA_BROADCAST]?.bytes
    }

    /// `IFF_LOWER_UP` (linux/if.h, which does not go together with net/if.h).
    private static let lowerUp: UInt32 = 1 << 16
}

extension Link.Traits {
    /// - Parameter flags: `IFF_*`.
    init(interfaceFlags flags: UInt32) {
        self = []
        if flags & UInt32(IFF_POINTOPOINT) != 0 { insert(.pointToPoint) }
        if flags & UInt32(IFF_POINTOPOINT | IFF_NOARP | IFF_LOOPBACK) == 0 { insert(.hasNeighbours) }
        if flags & Self.dormantFlag != 0 { insert(.dormant) }
    }

    /// `IFF_DORMANT` (linux/if.h).
    private static let dormantFlag: UInt32 = 1 << 17
}
