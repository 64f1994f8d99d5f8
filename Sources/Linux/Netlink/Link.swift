import AgentModel
import CNetlink
import Glibc

/// A network interface (`RTM_NEWLINK`).
public struct Link: Hashable, Sendable {
    public let index: Int
    public let name: String
    /// Set up by the administrator.
    public let isUp: Bool
    /// Connected to something: a cable, an access point; of a modem, a cellular network.
    public var hasCarrier: Bool { isLowerUp && !isDisconnected }
    private let isLowerUp: Bool
    /// Whether the modem behind it has no connection, which drivers of modems do not tell
    /// (`RouteMonitor.setDisconnected(_:)`).
    var isDisconnected: Bool
    public let kind: Uplink
    public let traits: Traits
    /// Nil for what is no tunnel.
    public let tunnel: Tunnel?
    /// Nil for links that have none, such as tunnels.
    public let hardware: HardwareAddress?

    init(
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

        /// There is one other end and no more: modems, most tunnels.
        public static let pointToPoint = Traits(rawValue: 1 << 0)
        /// ARP or neighbour discovery asks for the owner of an address.
        public static let hasNeighbours = Traits(rawValue: 1 << 1)
        /// It passes packets once something has woken it up: the connection that it stands for is made on demand
        /// (RFC 2863, 3.1.12).
        public static let dormant = Traits(rawValue: 1 << 2)
    }

    /// A link whose packets leave the device inside those of another one: a VPN.
    public struct Tunnel: Hashable, Sendable {
        /// The interface that it is tied to, where it is.
        public let lowerIndex: Int?
        /// The address that its packets are sent to, if the kernel knows it: WireGuard and programs keep that to
        /// themselves.
        public let farEnd: IPAddress?
    }

    /// Whether a default route over it leads out of the device by itself: not through a tunnel or a bridge, whose
    /// traffic leaves by something else.
    public var isCarrier: Bool { kind != .other }
}

extension Link {
    /// - Parameters:
    ///   - known: what was known of it before, for a message that says less.
    ///   - disconnected: the interfaces whose modem has no connection.
    /// - Returns: nil where its name is not known.
    init?(_ report: LinkReport, known: Link?, disconnected: Set<String>, kind: (LinkReport) -> Uplink) {
        guard let name = report.name ?? known?.name else { return nil }
        self.init(
            index: report.index, name: name, isUp: report.isUp, hasCarrier: report.hasCarrier,
            kind: known.flatMap { $0.name == name ? $0.kind : nil } ?? kind(report), traits: report.traits,
            tunnel: report.name == nil ? known?.tunnel : Tunnel(report), hardware: report.hardware ?? known?.hardware,
            isDisconnected: disconnected.contains(name))
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

/// One message about a link (rtnetlink.h, `struct ifinfomsg`).
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
    let hardware: HardwareAddress?

    init?(_ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        // Bridges tell of their ports in the same messages, under their own family: those are not links coming and
        // going.
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
        hardware = attributes[IFLA_ADDRESS].flatMap { HardwareAddress(bytes: $0.bytes) }
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

extension Uplink {
    /// The kind of a link, from what the kernel says of it in rtnetlink and in sysfs.
    init(_ report: LinkReport, files: LinkFiles) {
        self.init(
            hardwareType: report.hardwareType, virtualKind: report.virtualKind,
            deviceType: report.name.flatMap(files.deviceType), driver: report.name.flatMap(files.driver),
            name: report.name ?? "")
    }

    /// PPP counts as a modem whatever it runs over, which the kernel does not tell: taking a landline for a dear one
    /// does less harm than the other way round.
    /// - Parameters:
    ///   - hardwareType: if_arp.h, `ARPHRD_*`.
    ///   - virtualKind: rtnetlink's name for the kind of a virtual link; hardware has none.
    ///   - deviceType: the `DEVTYPE` by which cfg80211 and modem drivers mark their interfaces.
    ///   - driver: the name of the hardware's driver.
    ///   - name: counts where a modem's driver does not mark it: the kernel calls modems `wwan0`, and systemd gives
    ///     them names that begin with `ww` (systemd.net-naming-scheme(7)).
    init(hardwareType: UInt16, virtualKind: String?, deviceType: String?, driver: String?, name: String) {
        let isNamedLikeModem = name.hasPrefix("ww")
        switch (deviceType, virtualKind, HardwareType(rawValue: hardwareType)) {
        case ("wlan", _, _): self = .wifi
        case ("wwan", _, _), (_, "wwan", _), (_, "rmnet", _), (_, _, .ppp), (_, nil, .rawIP): self = .cellular
        case (_, nil, _) where driver.map(Self.modemDrivers.contains) ?? false: self = .cellular
        // A dummy by such a name stands for a modem at the bench.
        case (nil, nil, _) where isNamedLikeModem, (nil, "dummy", _) where isNamedLikeModem: self = .cellular
        case (_, nil, .ethernet), (_, "veth", _), (_, "vlan", _), (_, "bond", _): self = .wired
        default: self = .other
        }
    }

    /// Drivers of modems, which mark their interfaces on most kernels, and of telephones that share their connection
    /// over USB (drivers/net/usb). Not `cdc_ncm` and `cdc_ether`: those are of Ethernet adapters too, and mark the
    /// modems that they know.
    private static let modemDrivers: Set = [
        "cdc_mbim", "huawei_cdc_ncm", "qmi_wwan", "sierra_net", "hso", "kalmia", "lg-vl600", "ipheth", "rndis_host",
    ]
}

/// if_arp.h, `ARPHRD_*`.
enum HardwareType: UInt16 {
    case ethernet = 1
    case ppp = 512
    /// Modems without an Ethernet header.
    case rawIP = 519

    /// Links whose hardware addresses are those of the outer protocol: `ARPHRD_TUNNEL`, `TUNNEL6`, `SIT`, `IPGRE` and
    /// `IP6GRE`.
    static let tunnels: Set<UInt16> = [768, 769, 776, 778, 823]
}

/// Network interfaces in sysfs: files of the kernel's that are never on a disk.
struct LinkFiles {
    /// Has a folder for each interface.
    let folder: String

    static let system = LinkFiles(folder: "/sys/class/net")

    /// The `DEVTYPE` by which cfg80211 and modem drivers mark their interfaces.
    func deviceType(of interface: String) -> String? {
        let line = contents("uevent", of: interface)?.split(separator: UInt8(ascii: "\n")).first {
            $0.starts(with: "DEVTYPE=".utf8)
        }
        return line.map { String(decoding: $0.dropFirst("DEVTYPE=".utf8.count), as: UTF8.self) }
    }

    /// The interface's counts that are read, by the name that the kernel gives them.
    enum Frames: String {
        case sent = "tx_packets"
        case received = "rx_packets"
    }

    /// How many frames the interface has sent or received, since some moment of the driver's choice.
    func frames(_ kind: Frames, of interface: String) -> UInt64? {
        contents("statistics/\(kind.rawValue)", of: interface).flatMap { contents in
            UInt64(String(decoding: contents.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        }
    }

    /// The name of the driver of the hardware behind the interface.
    func driver(of interface: String) -> String? {
        guard let path = path(of: interface) else { return nil }
        var target = [CChar](repeating: 0, count: 1024)
        let count = readlink("\(path)/device/driver", &target, target.count)
        guard count > 0 else { return nil }
        let name = target[..<count].split(separator: CChar(bitPattern: UInt8(ascii: "/"))).last
        return name.map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    }

    /// The beginning of a file.
    private func contents(_ name: String, of interface: String) -> ArraySlice<UInt8>? {
        guard let path = path(of: interface) else { return nil }
        let file = open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var contents = [UInt8](repeating: 0, count: 1024)
        let count = read(file, &contents, contents.count)
        return count > 0 ? contents[..<count] : nil
    }

    private func path(of interface: String) -> String? {
        guard !interface.isEmpty, !interface.contains("/"), interface != ".", interface != ".." else { return nil }
        return "\(folder)/\(interface)"
    }
}
