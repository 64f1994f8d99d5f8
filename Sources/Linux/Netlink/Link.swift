import AgentModel
import CNetlink
import Glibc

extension NetworkInterface {
    /// - Parameters:
    ///   - known: former state, for messages without all attributes.
    ///   - disconnected: names of interfaces whose modem has no connection.
    /// - Returns: nil if the name is unknown.
    init?(_ report: LinkReport, known: NetworkInterface?, disconnected: Set<String>, kind: (LinkReport) -> Uplink) {
        guard let name = report.name ?? known?.name else { return nil }
        self.init(
            index: report.index, name: name, isUp: report.isUp, hasCarrier: report.hasCarrier,
            kind: known.flatMap { $0.name == name ? $0.kind : nil } ?? kind(report), traits: report.traits,
            tunnel: report.name == nil ? known?.tunnel : Tunnel(report), hardware: report.hardware ?? known?.hardware,
            isDisconnected: disconnected.contains(name))
    }
}

extension NetworkInterface.Tunnel {
    init?(_ report: LinkReport) {
        guard let kind = report.virtualKind, Self.kinds.contains(kind) else { return nil }
        // On tunnels, hardware addresses are addresses of the outer protocol. The broadcast address is the peer's.
        let farEnd =
            HardwareType.tunnels.contains(report.hardwareType)
            ? report.broadcast.flatMap { IPAddress(bytes: $0) }.flatMap { $0.isUnspecified ? nil : $0 } : nil
        self.init(lowerIndex: report.lowerIndex, farEnd: farEnd)
    }

    /// Names of `rtnl_link_ops.kind`. TUN and TAP are both "tun". PPP counts as a modem.
    private static let kinds: Set = [
        "tun", "wireguard", "ovpn", "ovpn-dco", "xfrm", "vti", "vti6", "ipip", "ip6tnl", "sit", "gre", "gretap",
        "ip6gre", "ip6gretap", "erspan", "ip6erspan", "l2tpeth", "vxlan", "geneve", "bareudp",
    ]
}

/// One message about a link (rtnetlink.h, `struct ifinfomsg`).
struct LinkReport: Equatable {
    let index: Int
    /// Name of the interface; nil in messages of wireless extensions.
    let name: String?
    let isUp: Bool
    let hasCarrier: Bool
    /// Hardware type, `ARPHRD_*` of if_arp.h.
    let hardwareType: UInt16
    /// Kind of a virtual link, such as "bridge".
    let virtualKind: String?
    let traits: NetworkInterface.Traits
    let lowerIndex: Int?
    let broadcast: ArraySlice<UInt8>?
    let hardware: HardwareAddress?

    init?(_ payload: ArraySlice<UInt8>) {
        var reader = ByteReader(payload)
        // Bridges report their ports in such messages under their own family. These are not link changes.
        guard reader.read(UInt16.self) == UInt16(AF_UNSPEC), let hardwareType = reader.read(UInt16.self),
            let index = reader.read(Int32.self), index > 0, let flags = reader.read(UInt32.self),
            reader.read(UInt32.self) != nil
        else { return nil }
        let attributes = Attributes(reader.rest)
        self.index = Int(index)
        self.hardwareType = hardwareType
        isUp = flags & UInt32(IFF_UP) != 0
        hasCarrier = flags & Self.lowerUp != 0
        name = attributes[IFLA_IFNAME]?.string
        virtualKind = attributes[IFLA_LINKINFO]?.nested[IFLA_INFO_KIND]?.string
        traits = NetworkInterface.Traits(interfaceFlags: flags)
        // The index is meaningless if it belongs to another network namespace.
        let lower = attributes[IFLA_LINK_NETNSID] == nil ? attributes[IFLA_LINK]?.count(as: UInt32.self) : nil
        lowerIndex = lower.flatMap { $0 > 0 && $0 != Int(index) ? $0 : nil }
        broadcast = attributes[IFLA_BROADCAST]?.bytes
        hardware = attributes[IFLA_ADDRESS].flatMap { HardwareAddress(bytes: $0.bytes) }
    }

    /// Flag `IFF_LOWER_UP` of linux/if.h, which conflicts with net/if.h.
    private static let lowerUp: UInt32 = 1 << 16
}

extension NetworkInterface.Traits {
    init(interfaceFlags flags: UInt32) {
        self = []
        if flags & UInt32(IFF_POINTOPOINT) != 0 { insert(.pointToPoint) }
        if flags & UInt32(IFF_POINTOPOINT | IFF_NOARP | IFF_LOOPBACK) == 0 { insert(.hasNeighbours) }
        if flags & Self.dormantFlag != 0 { insert(.dormant) }
    }

    private static let dormantFlag: UInt32 = 1 << 17
}

extension Uplink {
    init(_ report: LinkReport, files: LinkFiles) {
        self.init(
            hardwareType: report.hardwareType, virtualKind: report.virtualKind,
            deviceType: report.name.flatMap(files.deviceType), driver: report.name.flatMap(files.driver),
            name: report.name ?? "")
    }

    /// Determines the kind of a link. PPP counts as a modem, because the kernel does not report what it runs over.
    /// Treating a landline as cellular does less harm than the reverse.
    /// - Parameters:
    ///   - hardwareType: `ARPHRD_*` of if_arp.h.
    ///   - virtualKind: rtnetlink kind of a virtual link; nil for hardware.
    ///   - deviceType: `DEVTYPE` of cfg80211 and modem drivers.
    ///   - name: used if a modem's driver does not set `DEVTYPE`. The kernel names modems `wwan0`; systemd uses the
    ///     prefix `ww` (systemd.net-naming-scheme(7)).
    init(hardwareType: UInt16, virtualKind: String?, deviceType: String?, driver: String?, name: String) {
        let isNamedLikeModem = name.hasPrefix("ww")
        switch (deviceType, virtualKind, HardwareType(rawValue: hardwareType)) {
        case ("wlan", _, _): self = .wifi
        case ("wwan", _, _), (_, "wwan", _), (_, "rmnet", _), (_, _, .ppp), (_, nil, .rawIP): self = .cellular
        case (_, nil, _) where driver.map(Self.modemDrivers.contains) ?? false: self = .cellular
        // A dummy with such a name simulates a modem in tests.
        case (nil, nil, _) where isNamedLikeModem, (nil, "dummy", _) where isNamedLikeModem: self = .cellular
        case (_, nil, .ethernet), (_, "veth", _), (_, "vlan", _), (_, "bond", _): self = .wired
        default: self = .other
        }
    }

    /// Drivers of modems, and of phones with USB tethering (drivers/net/usb), for kernels that do not mark their
    /// interfaces. `cdc_ncm` and `cdc_ether` are omitted: Ethernet adapters use them too, and both mark known modems.
    private static let modemDrivers: Set = [
        "cdc_mbim", "huawei_cdc_ncm", "qmi_wwan", "sierra_net", "hso", "kalmia", "lg-vl600", "ipheth", "rndis_host",
    ]
}

/// Hardware types, `ARPHRD_*` of if_arp.h.
enum HardwareType: UInt16 {
    case ethernet = 1
    case ppp = 512
    /// Modems without an Ethernet header.
    case rawIP = 519

    /// Links whose hardware addresses are outer protocol addresses: `ARPHRD_TUNNEL`, `TUNNEL6`, `SIT`, `IPGRE` and
    /// `IP6GRE`.
    static let tunnels: Set<UInt16> = [768, 769, 776, 778, 823]
}

/// Network interfaces in sysfs. Reading these files never waits for a disk.
struct LinkFiles {
    /// Folder with one subfolder per interface.
    let folder: String

    static let system = LinkFiles(folder: "/sys/class/net")

    func deviceType(of interface: String) -> String? {
        let line = contents("uevent", of: interface)?.split(separator: UInt8(ascii: "\n")).first {
            $0.starts(with: "DEVTYPE=".utf8)
        }
        return line.map { String(decoding: $0.dropFirst("DEVTYPE=".utf8.count), as: UTF8.self) }
    }

    enum Frames: String {
        case sent = "tx_packets"
        case received = "rx_packets"
    }

    /// Returns the number of frames sent or received. The driver chooses when the count starts.
    func frames(_ kind: Frames, of interface: String) -> UInt64? {
        contents("statistics/\(kind.rawValue)", of: interface).flatMap { contents in
            UInt64(String(decoding: contents.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        }
    }

    /// Returns the driver of the interface's device. Some drivers, such as brcmfmac, name a whole USB device, which has
    /// the driver `usb`: then it returns the driver of the device's first interface.
    func driver(of interface: String) -> String? {
        guard let path = path(of: interface) else { return nil }
        let driver = targetName("\(path)/device/driver")
        guard driver == "usb", let device = targetName("\(path)/device") else { return driver }
        return targetName("\(path)/device/\(device):1.0/driver") ?? driver
    }

    /// Returns the last part of a symbolic link's target.
    private func targetName(_ link: String) -> String? {
        var target = [CChar](repeating: 0, count: 1024)
        let count = readlink(link, &target, target.count)
        guard count > 0 else { return nil }
        let name = target[..<count].split(separator: CChar(bitPattern: UInt8(ascii: "/"))).last
        return name.map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    }

    /// Returns the first 1024 bytes of a file.
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
