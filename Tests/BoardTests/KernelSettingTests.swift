import Foundation
import Testing

/// The kernel gets the interface's IPv6 addresses while altnet has it, and the values of before come back.
@Suite(.timeLimit(.minutes(10))) struct KernelSettingTests {
    /// As NetworkManager or systemd-networkd leave the interface.
    private static let before = [
        "addr_gen_mode": "1", "autoconf": "1", "accept_ra": "0", "accept_ra_defrtr": "1", "accept_ra_pinfo": "0",
        "accept_ra_rt_info_max_plen": "64", "ra_defrtr_metric": "1024", "forwarding": "0",
    ]
    private static let during = before.merging([
        "addr_gen_mode": "0", "accept_ra": "1", "accept_ra_pinfo": "1", "accept_ra_rt_info_max_plen": "0",
        "ra_defrtr_metric": "2048",
    ]) { $1 }

    /// Parameters of mac80211, as the kernel has them and as altnet sets them.
    private static let radioBefore = ["beacon_loss_count": "7", "max_nullfunc_tries": "2", "probe_wait_ms": "500"]
    private static let radioDuring = ["beacon_loss_count": "3", "max_nullfunc_tries": "5", "probe_wait_ms": "200"]

    /// A board whose interface wlan0 has been taken over.
    private struct Device {
        let board: Board
        var root: String { board.place }

        init() throws {
            board = try Board()
            for folder in ["/run/altnet-interface", "/etc/altnet"] {
                try FileManager.default.createDirectory(atPath: root + folder, withIntermediateDirectories: true)
            }
            try write("wlan0\n", to: "/run/altnet-interface/interfaces")
            try write("altnet\n", to: "/run/altnet-interface/client")
            try write("altnet0\n", to: "/run/altnet-interface/rescue")
            try write("#!/bin/sh\ncase $* in *is-enabled*) exit 1 ;; esac\n", to: "/systemctl")
            chmod(root + "/systemctl", 0o755)
            try plug("wlan0", number: 3)
        }

        func write(_ text: String, to path: String) throws {
            let folder = URL(fileURLWithPath: root + path).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try text.write(toFile: root + path, atomically: false, encoding: .utf8)
        }

        func plug(_ interface: String, number: Int) throws {
            for (key, value) in before { try set(interface, key, value) }
            try write("\(number)\n", to: "/sys/class/net/\(interface)/ifindex")
        }

        func set(_ interface: String, _ key: String, _ value: String) throws {
            try write(value + "\n", to: "/proc/sys/net/ipv6/conf/\(interface)/\(key)")
        }

        /// Gives the kernel the module mac80211, with the values that it has by itself.
        func loadRadio() throws {
            try board.install("modprobe/mac80211.conf", as: "/usr/share/altnet/mac80211.conf")
            for (key, value) in KernelSettingTests.radioBefore { try setRadio(key, value) }
        }

        func setRadio(_ key: String, _ value: String) throws {
            try write(value + "\n", to: "/sys/module/mac80211/parameters/\(key)")
        }

        func radio() throws -> [String: String] {
            Dictionary(
                uniqueKeysWithValues: try KernelSettingTests.radioBefore.keys.map { key in
                    let path = root + "/sys/module/mac80211/parameters/" + key
                    return (key, try String(contentsOfFile: path, encoding: .utf8).filter { $0 != "\n" })
                })
        }

        func values(_ interface: String = "wlan0") throws -> [String: String] {
            let folder = root + "/proc/sys/net/ipv6/conf/" + interface
            let keys = try FileManager.default.contentsOfDirectory(atPath: folder)
            return Dictionary(
                uniqueKeysWithValues: try keys.map {
                    ($0, try String(contentsOfFile: folder + "/" + $0, encoding: .utf8).filter { $0 != "\n" })
                })
        }

        func run(_ arguments: String...) throws {
            let (status, said) = try Board.run(
                "env",
                [
                    "ALTNET_ROOT=" + root, "ALTNET_SYSTEMCTL=" + root + "/systemctl",
                    Board.folder + "/systemd/altnet-interface",
                ] + arguments)
            #expect(status == 0, "\(said)")
        }
    }

    // covers: seed/other-managers
    @Test func theValuesOfBeforeComeBack() throws {
        let device = try Device()
        try device.run("kernel", "wlan0")
        #expect(try device.values() == Self.during)
        // Again, as wpa_supplicant and the agent start anew.
        try device.run("kernel", "wlan0")
        try device.run("release")
        #expect(try device.values() == Self.before)
    }

    @Test func aRouterReadsAdvertisementsAllTheSame() throws {
        let device = try Device()
        try device.set("wlan0", "forwarding", "1")
        try device.run("kernel", "wlan0")
        #expect(try device.values()["accept_ra"] == "2")
    }

    @Test func whatAnOwnerChoseForLinkLocalAddressesStays() throws {
        let device = try Device()
        try device.set("wlan0", "addr_gen_mode", "3")
        try device.run("kernel", "wlan0")
        #expect(try device.values()["addr_gen_mode"] == "3")
    }

    @Test func whatAnotherProgramChangedSinceStays() throws {
        let device = try Device()
        try device.run("kernel", "wlan0")
        try device.set("wlan0", "accept_ra", "2")
        try device.run("release")
        #expect(try device.values() == Self.before.merging(["accept_ra": "2"]) { $1 })
    }

    /// A stick that was pulled out and put in again has the kernel's own values.
    @Test func anInterfaceThatComesAnewHasItsOwnValues() throws {
        let device = try Device()
        try device.run("kernel", "wlan0")
        try device.plug("wlan0", number: 4)
        try device.set("wlan0", "accept_ra", "1")
        try device.run("kernel", "wlan0")
        try device.run("release")
        #expect(try device.values() == Self.before.merging(["accept_ra": "1"]) { $1 })
    }

    @Test func anInterfaceThatIsGoneIsNoFailure() throws {
        let device = try Device()
        try device.run("kernel", "wlan0")
        try FileManager.default.removeItem(atPath: device.root + "/proc/sys/net/ipv6/conf/wlan0")
        try FileManager.default.removeItem(atPath: device.root + "/sys/class/net/wlan0")
        try device.run("kernel", "wlan0")
        try device.run("release")
    }

    /// One of the devices in it could make itself the router.
    @Test func theAccessPointHasNoIPv6() throws {
        let device = try Device()
        try device.plug("altnet0", number: 9)
        try device.set("altnet0", "disable_ipv6", "0")
        try device.run("kernel", "altnet0")
        #expect(try device.values("altnet0") == Self.before.merging(["disable_ipv6": "1"]) { $1 })
        #expect(try device.values() == Self.before)
    }

    @Test(arguments: [
        ("ALTNET_SETUP_AP_INTERFACE=ap0\n", true), ("ALTNET_RESCUE_INTERFACE=ap0\n", true),
        ("ALTNET_SETUP_AP_INTERFACE=ap1\nALTNET_RESCUE_INTERFACE=ap0\n", false),
        ("ALTNET_SETUP_AP_INTERFACE=ap0\nALTNET_RESCUE=no\n", false),
    ]) func itsInterfaceIsSetByThePresentNameOrTheOldOne(settings: String, isIts: Bool) throws {
        let device = try Device()
        try device.write(settings, to: "/etc/altnet/altnet.conf")
        try device.plug("ap0", number: 9)
        try device.set("ap0", "disable_ipv6", "0")
        try device.run("kernel", "ap0")
        #expect(try device.values("ap0")["disable_ipv6"] == (isIts ? "1" : "0"))
    }

    @Test func theSpareInterfaceComesAfterTheFirst() throws {
        let device = try Device()
        try device.write("wlan0 wlan1\n", to: "/run/altnet-interface/interfaces")
        try device.write("ALTNET_SPARE_INTERFACE=wlan1\n", to: "/etc/altnet/altnet.conf")
        try device.plug("wlan1", number: 4)
        try device.run("prepare")
        #expect(try device.values()["ra_defrtr_metric"] == "2048")
        #expect(try device.values("wlan1")["ra_defrtr_metric"] == "2058")
    }

    @Test(arguments: ["kernel", "prepare"]) func theParametersOfTheRadioComeBack(action: String) throws {
        let device = try Device()
        try device.loadRadio()
        try device.run("kernel", "wlan7")
        #expect(try device.radio() == Self.radioBefore)
        try device.run(action, "wlan0")
        #expect(try device.radio() == Self.radioDuring)
        // Again, as wpa_supplicant and the agent start anew.
        try device.run("kernel", "wlan0")
        try device.run("release")
        #expect(try device.radio() == Self.radioBefore)
    }

    @Test func aParameterThatAnotherProgramChangedSinceStays() throws {
        let device = try Device()
        try device.loadRadio()
        try device.run("kernel", "wlan0")
        try device.setRadio("probe_wait_ms", "1000")
        try device.run("release")
        #expect(try device.radio() == Self.radioBefore.merging(["probe_wait_ms": "1000"]) { $1 })
    }

    /// The driver came again, with the kernel's values, while altnet had the interface.
    @Test func aRadioThatComesAnewIsSetAgain() throws {
        let device = try Device()
        try device.loadRadio()
        try device.run("kernel", "wlan0")
        for (key, value) in Self.radioBefore { try device.setRadio(key, value) }
        try device.run("kernel", "wlan0")
        #expect(try device.radio() == Self.radioDuring)
        try device.run("release")
        #expect(try device.radio() == Self.radioBefore)
    }

    @Test func otherInterfacesAndOtherClientsAreLeftAlone() throws {
        let device = try Device()
        try device.plug("eth0", number: 2)
        try device.run("kernel", "eth0")
        try device.write("ALTNET_ADDRESS_CLIENT=other\n", to: "/etc/altnet/altnet.conf")
        try device.run("kernel", "wlan0")
        #expect(try device.values("eth0") == Self.before)
        #expect(try device.values() == Self.before)
    }
}
