import AgentModel

extension Uplink {
    /// The kind of a link, from what the kernel says of it in rtnetlink and in sysfs.
    init(_ report: LinkReport, files: LinkFiles) {
        self.init(
            hardwareType: report.hardwareType, virtualKind: report.virtualKind,
            deviceType: report.name.flatMap(files.deviceType), driver: report.name.flatMap(files.driver),
            name: report.name ?? "")
    }

    /// PPP counts as a modem whatever it runs over, which nobody tells: taking a landline for a dear one does less harm
    /// than the other way round.
    /// - Parameters:
    ///   - hardwareType: if_arp.h, `ARPHRD_*`.
    ///   - virtualKind: rtnetlink's name for the kind of a virtual link; hardware has none.
    ///   - deviceType: the `DEVTYPE` by which cfg80211 and modem drivers mark their interfaces.
    ///   - driver: the name of the hardware's driver.
    ///   - name: counts where a modem's driver does not mark it: the kernel calls modems `wwan0`, and systemd gives them
    ///     names that begin with `ww` (systemd.net-naming-scheme(7)).
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

    /// Drivers of modems, which mark their interfaces on most kernels, and of telephones that share their connection over
    /// USB (drivers/net/usb). Not `cdc_ncm` and `cdc_ether`: those are of Ethernet adapters too, and mark the modems that
    /// they know.
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
