/// A change of interfaces, addresses or default routes.
public enum RouteEvent: Hashable, Sendable {
    /// An interface has appeared or changed.
    case linkChanged(NetworkInterface)
    case linkRemoved(NetworkInterface)
    /// An address has appeared or changed, or a DHCP client has confirmed it by setting it again.
    case addressAdded(InterfaceAddress)
    case addressRemoved(InterfaceAddress)
    case defaultRouteAdded(DefaultRoute)
    case defaultRouteRemoved(DefaultRoute)
    /// The uplink, or the interface below its tunnel, has changed; nil if no interface carries internet traffic.
    case uplinkChanged(ActiveUplink?)
    /// Messages were lost, and the monitor has read everything again. Events for missed changes precede this event.
    case resynchronise
}

/// A network interface (`RTM_NEWLINK`).
public struct NetworkInterface: Hashable, Sendable {
    public let index: Int
    public let name: String
    /// Whether the administrator has set the interface up.
    public let isUp: Bool
    /// True if the link is connected: a cable, an access point, or a modem's cellular network.
    public var hasCarrier: Bool { isLowerUp && !isDisconnected }
    private let isLowerUp: Bool
    /// True if the modem is not connected. Drivers do not report this, so `RouteMonitor.setDisconnected(_:)` sets it.
    package var isDisconnected: Bool
    public let kind: Uplink
    public let traits: Traits
    public let tunnel: Tunnel?
    public let hardware: HardwareAddress?

    package init(
        index: Int, name: String, isUp: Bool, hasCarrier: Bool, kind: Uplink, traits: Traits = [],
        tunnel: Tunnel? = nil, hardware: HardwareAddress? = nil, isDisconnected: Bool = false
    ) {
        (self.index, self.name, self.isUp, isLowerUp) = (index, name, isUp, hasCarrier)
        self.isDisconnected = isDisconnected
        (self.kind, self.traits, self.tunnel, self.hardware) = (kind, traits, tunnel, hardware)
    }

    public struct Traits: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The link has only one peer, as with modems and most tunnels.
        public static let pointToPoint = Traits(rawValue: 1 << 0)
        /// The link resolves addresses by ARP or neighbour discovery.
        public static let hasNeighbours = Traits(rawValue: 1 << 1)
        /// The link connects on demand, once it has traffic (RFC 2863, 3.1.12).
        public static let dormant = Traits(rawValue: 1 << 2)
    }

    /// Tunnel properties of a VPN link.
    public struct Tunnel: Hashable, Sendable {
        /// Index of the interface that the tunnel is bound to; nil if unbound.
        public let lowerIndex: Int?
        /// Address of the tunnel's peer; nil if the kernel does not know it, as with WireGuard and user-space VPNs.
        public let farEnd: IPAddress?

        package init(lowerIndex: Int?, farEnd: IPAddress?) { (self.lowerIndex, self.farEnd) = (lowerIndex, farEnd) }
    }

    /// True if traffic of a default route leaves the device over this link. Tunnels and bridges use another link.
    public var isCarrier: Bool { kind != .other }
}

/// An address of an interface (`RTM_NEWADDR`).
public struct InterfaceAddress: Hashable, Sendable {
    public let family: AddressFamily
    /// Bytes of the address in network order, four or sixteen.
    public let bytes: [UInt8]
    public let prefixLength: Int
    public let scope: Scope
    /// Index of the interface.
    public let index: Int
    /// True if the address must not be used: duplicate detection is running or has failed (RFC 4862, 5.4).
    public let isTentative: Bool

    /// Scope of an address (rtnetlink.h, `enum rt_scope_t`).
    public enum Scope: Hashable, Sendable {
        case global, site, link, host
        case other(UInt8)
    }

    package init(
        family: AddressFamily, bytes: [UInt8], prefixLength: Int, scope: Scope = .global, index: Int,
        isTentative: Bool = false
    ) {
        (self.family, self.bytes, self.prefixLength) = (family, bytes, prefixLength)
        (self.scope, self.index, self.isTentative) = (scope, index, isTentative)
    }

    /// Address in the usual notation, without the prefix length.
    package var text: String { IPAddress(bytes: bytes)?.description ?? "?" }
}

/// A default route in the main table (`RTM_NEWROUTE`).
public struct DefaultRoute: Hashable, Sendable {
    public let family: AddressFamily
    /// Address of the gateway; nil on point-to-point links.
    public let gateway: [UInt8]?
    /// Index of the interface.
    public let index: Int
    public let metric: Int
    /// True if this agent or an earlier run made the route (`OwnRoute`).
    public var isOwn: Bool

    package init(family: AddressFamily, gateway: [UInt8]?, index: Int, metric: Int, isOwn: Bool = false) {
        (self.family, self.gateway, self.index) = (family, gateway, index)
        (self.metric, self.isOwn) = (metric, isOwn)
    }
}

/// Interface that carries internet traffic: it has the best default route over a link that is up with a carrier. IPv4
/// routes take precedence, because the metrics of the two families are not comparable.
public struct ActiveUplink: Hashable, Sendable {
    public let kind: Uplink
    public let interface: String
    public let index: Int
    /// Interface below a tunnel, if known; nil for other links.
    public let carrier: Carrier?

    package init(kind: Uplink, interface: String, index: Int, carrier: Carrier? = nil) {
        (self.kind, self.interface, self.index, self.carrier) = (kind, interface, index, carrier)
    }

    public struct Carrier: Hashable, Sendable {
        public let kind: Uplink
        public let interface: String
        public let index: Int

        package init(kind: Uplink, interface: String, index: Int) {
            (self.kind, self.interface, self.index) = (kind, interface, index)
        }
    }
}
