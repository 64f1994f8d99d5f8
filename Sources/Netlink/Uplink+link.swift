import AgentModel
import Glibc

extension Uplink {
    /// The kind of a link, from what the kernel says of it in rtnetlink and in sysfs.
    init(_ report: LinkReport) {
        self.init(
            hardwareType: report.hardwareType, virtualKind: report.virtualKind,
            deviceType: report.name.flatMap(Self.deviceType), name: report.name ?? "")
    }

    /// - Parameters:
    ///   - hardwareType: if_arp.h, `ARPHRD_*`.
    ///   - virtualKind: rtnetlink's name for the kind of a virtual link; hardware has none.
    ///   - deviceType: the `DEVTYPE` by which cfg80211 and modem drivers mark their interfaces.
    ///   - name: counts where a modem's driver does not mark it: the kernel calls modems `wwan0`, and systemd gives them
    ///     names that begin with `ww` (systemd.net-naming-scheme(7)).
    init(hardwareType: UInt16, virtualKind: String?, deviceType: String?, name: String) {
        let isNamedLikeModem = name.hasPrefix("ww")
        switch (deviceType, virtualKind, HardwareType(rawValue: hardwareType)) {
        case ("wlan", _, _): self = .wifi
        case ("wwan", _, _), (_, "wwan", _), (_, "rmnet", _), (_, _, .ppp), (_, nil, .rawIP): self = .cellular
        // A dummy by such a name stands for a modem at the bench.
        case (nil, nil, _) where isNamedLikeModem, (nil, "dummy", _) where isNamedLikeModem: self = .cellular
        case (_, nil, .ethernet), (_, "veth", _), (_, "vlan", _), (_, "bond", _): self = .wired
        default: self = .other
        }
    }

    /// if_arp.h, `ARPHRD_*`.
    private enum HardwareType: UInt16 {
        case ethernet = 1
        case ppp = 512
        /// Modems without an Ethernet header.
        case rawIP = 519
    }

    /// Reads `DEVTYPE` from the interface's `uevent`, a line in a file of the kernel's that is never on a disk.
    private static func deviceType(of interface: String) -> String? {
        guard !interface.isEmpty, !interface.contains("/"), interface != ".", interface != ".." else { return nil }
        let file = open("/sys/class/net/\(interface)/uevent", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var contents = [UInt8](repeating: 0, count: 1024)
        let count = read(file, &contents, contents.count)
        guard count > 0 else { return nil }
        let line = contents[..<count].split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "DEVTYPE=".utf8) }
        return line.map { String(decoding: $0.dropFirst("DEVTYPE=".utf8.count), as: UTF8.self) }
    }
}
