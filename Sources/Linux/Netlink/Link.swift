import AgentModel

/// A network interface (`RTM_NEWLINK`).
public struct Link: Hashable, Sendable {
    public let index: Int
    public let name: String
    /// Set up by the administrator.
    public let isUp: Bool
    /// Connected to something: a cable, an access point.
    public let hasCarrier: Bool
    public let kind: Uplink
    public let traits: Traits
    /// Nil for what is no tunnel.
    public let tunnel: Tunnel?

    init(
        index: Int, name: String, isUp: Bool, hasCarrier: Bool, kind: Uplink, traits: Traits = [], tunnel: Tunnel? = nil
    ) {
        (self.index, self.name, self.isUp, self.hasCarrier) = (index, name, isUp, hasCarrier)
        (self.kind, self.traits, self.tunnel) = (kind, traits, tunnel)
    }

    public struct Traits: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There is one other end and no more: modems, most tunnels.
        public static let pointToPoint = Traits(rawValue: 1 << 0)
        /// Who has which address is asked with ARP or neighbour discovery.
        public static let hasNeighbours = Traits(rawValue: 1 << 1)
        /// It passes packets once something has woken it up: the connection that it stands for is made on demand
        /// (RFC 2863, 3.1.12).
        public static let dormant = Traits(rawValue: 1 << 2)
    }

    /// A link whose packets leave the device inside those of another one: a VPN.
    public struct Tunnel: Hashable, Sendable {
        /// The interface that it is tied to, where it is.
        public let lowerIndex: Int?
        /// Where its packets are sent to, where the kernel knows: WireGuard and programs keep that to themselves.
        public let farEnd: IPAddress?
    }

    /// Whether a default route over it leads out of the device by itself: not through a tunnel or a bridge, whose traffic
    /// leaves by something else.
    public var isCarrier: Bool { kind != .other }
}

extension Link {
    /// - Parameter known: what was known of it before, for a message that says less.
    /// - Returns: nil where nobody has told its name.
    init?(_ report: LinkReport, known: Link?, kind: (LinkReport) -> Uplink) {
        guard let name = report.name ?? known?.name else { return nil }
        self.init(
            index: report.index, name: name, isUp: report.isUp, hasCarrier: report.hasCarrier,
            kind: known.flatMap { $0.name == name ? $0.kind : nil } ?? kind(report), traits: report.traits,
            tunnel: report.name == nil ? known?.tunnel : Tunnel(report))
    }
}

extension Link.Tunnel {
    init?(_ report: LinkReport) {
        guard let kind = report.virtualKind, Self.kinds.contains(kind) else { return nil }
        lowerIndex = report.lowerIndex
        // The hardware address of such a link is that of the tunnel's outside, and its broadcast that of the far end.
        farEnd =
            HardwareType.tunnels.contains(report.hardwareType)
            ? report.broadcast.flatMap { IPAddress(bytes: $0) }.flatMap { $0.isUnspecified ? nil : $0 } : nil
    }

    /// rtnetlink's names (`rtnl_link_ops.kind` in the drivers). TUN and TAP are both "tun"; PPP counts as a modem.
    private static let kinds: Set = [
        "tun", "wireguard", "ovpn", "ovpn-dco", "xfrm", "vti", "vti6", "ipip", "ip6tnl", "sit", "gre", "gretap",
        "ip6gre", "ip6gretap", "erspan", "ip6erspan", "l2tpeth", "vxlan", "geneve", "bareudp",
    ]
}
