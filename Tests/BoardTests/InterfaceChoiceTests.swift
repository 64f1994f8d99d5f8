import Foundation
import Testing

/// `altnet-interface` takes a radio by its address or its path, and pins the names of two radios.
@Suite(.timeLimit(.minutes(10))) struct InterfaceChoiceTests {
    /// A board with a card's radio and a USB stick.
    private struct Device {
        let board: Board
        var root: String { board.place }

        init(hasStick: Bool = true, stickAddress: String = "00:c0:ca:11:22:33") throws {
            board = try Board()
            for (file, place) in [
                ("networkd/altnet.network", "networkd.network"), ("networkmanager/altnet.conf", "networkmanager.conf"),
            ] { try board.install(file, as: "/usr/share/altnet/" + place) }
            try write("#!/bin/sh\ncase $* in *is-enabled*) exit 1 ;; esac\n", to: "/systemctl")
            chmod(root + "/systemctl", 0o755)
            try FileManager.default.createDirectory(atPath: root + "/run", withIntermediateDirectories: true)
            // The stick has come first and has the lower name.
            if hasStick {
                try plug("wlan0", "pci0000:00/usb3/3-1/3-1.2/3-1.2:1.0", address: stickAddress, radio: 0, index: 3)
            }
            try plug(
                "wlan1", "platform/soc/fe300000.mmcnr/mmc_host/mmc1/mmc1:0001/mmc1:0001:1",
                address: "dc:a6:32:01:02:03", radio: 1, index: 4)
        }

        func write(_ text: String, to path: String) throws {
            let folder = URL(fileURLWithPath: root + path).deletingLastPathComponent()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try text.write(toFile: root + path, atomically: false, encoding: .utf8)
        }

        func plug(_ name: String, _ path: String, address: String, radio: Int, index: Int) throws {
            let device = "\(root)/sys/devices/\(path)"
            try write("\(address)\n", to: "/sys/devices/\(path)/ieee80211/phy\(radio)/macaddress")
            try write("\(index)\n", to: "/sys/class/net/\(name)/ifindex")
            for (link, target) in [("device", device), ("phy80211", "\(device)/ieee80211/phy\(radio)")] {
                try FileManager.default.createSymbolicLink(
                    atPath: "\(root)/sys/class/net/\(name)/\(link)", withDestinationPath: target)
            }
        }

        func set(_ lines: String...) throws {
            try write(lines.map { $0 + "\n" }.joined(), to: "/etc/altnet/altnet.conf")
        }

        @discardableResult
        func run(_ verb: String) throws -> Int32 { try output(verb).status }

        func output(_ words: String...) throws -> (output: String, status: Int32) {
            let run = try Board.run(
                "env",
                [
                    "ALTNET_ROOT=" + root, "ALTNET_SYSTEMCTL=" + root + "/systemctl",
                    Board.folder + "/systemd/altnet-interface",
                ] + words)
            return (run.said, run.status)
        }

        func settings() throws -> [Substring] {
            try String(contentsOfFile: root + "/etc/altnet/altnet.conf", encoding: .utf8).split(separator: "\n")
        }

        /// The taken interfaces; nil before.
        var taken: String? {
            try? String(contentsOfFile: root + "/run/altnet-interface/interfaces", encoding: .utf8).filter {
                $0 != "\n"
            }
        }

        func hasFile(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root + path) }
    }

    @Test(arguments: [
        ("mac:dc:a6:32:01:02:03", "wlan1"), ("mac:DC:A6:32:01:02:03", "wlan1"), ("mac:00:c0:ca:11:22:33", "wlan0"),
        ("path:platform/soc/fe300000.mmcnr/*", "wlan1"), ("path:*/3-1.2:1.0", "wlan0"),
        ("path:pci0000:00/usb3/3-1/3-1.2/3-1.2:1.0", "wlan0"), ("path:*", "wlan0"), ("wlan1", "wlan1"),
        // None of the board's.
        ("mac:dc:a6:32:01:02:04", ""), ("path:platform/soc/fe300000.mmcnr", ""),
    ])
    func aRadioIsTakenUnderItsPresentName(text: String, name: String) throws {
        let device = try Device()
        try device.set("ALTNET_INTERFACE=\(text)")
        #expect(try device.run("take") == 0)
        #expect(device.taken == name)
        // NetworkManager leaves a radio alone by its address before it comes, too.
        var devices = name.isEmpty ? [] : ["interface-name:\(name)", "interface-name:p2p-dev-\(name)"]
        if text.hasPrefix("mac:") { devices.append(text.lowercased()) }
        let file = device.root + "/run/NetworkManager/conf.d/90-altnet.conf"
        let list = try? String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").last
        let expected = devices.isEmpty ? nil : "unmanaged-devices+=" + devices.joined(separator: ";")
        #expect(list.map(String.init) == expected)
        #expect(try device.run("release") == 0)
        #expect(!device.hasFile("/run/altnet-interface"))
        #expect(!device.hasFile("/run/NetworkManager/conf.d/90-altnet-setup-ap.conf"))
    }

    /// An init script without systemd has the name of the radio's interface from it.
    @Test(
        arguments: [
            ("mac:dc:a6:32:01:02:03", "wlan1\n", 0), ("path:*/3-1.2:1.0", "wlan0\n", 0), ("wlan7", "wlan7\n", 0),
            ("mac:dc:a6:32:01:02:04", nil, 1), ("mac:*", nil, 78),
        ] as [(String, String?, Int32)])
    func aRadioHasAName(text: String, name: String?, status: Int32) throws {
        let device = try Device()
        let named = try device.output("name", text)
        #expect(named.status == status && (name == nil || named.output == name))
        try device.set("ALTNET_INTERFACE=\(text)")
        let stored = try device.output("name")
        #expect(stored.status == status && (name == nil || stored.output == name))
    }

    @Test func aRadioThatComesLaterIsTakenBeforeTheAgentStarts() throws {
        let device = try Device(hasStick: false)
        try device.set("ALTNET_INTERFACE=mac:00:c0:ca:11:22:33")
        #expect(try device.run("take") == 0)
        #expect(device.taken == "")
        try device.plug("wlan2", "pci0000:00/usb3/3-2/3-2:1.0", address: "00:c0:ca:11:22:33", radio: 2, index: 5)
        #expect(try device.run("prepare") == 0)
        #expect(device.taken == "wlan2")
    }

    @Test func theOldestInterfaceOfARadioIsTheStation() throws {
        let device = try Device()
        try device.plug(
            "ap0", "platform/soc/fe300000.mmcnr/mmc_host/mmc1/mmc1:0001/mmc1:0001:1", address: "dc:a6:32:01:02:03",
            radio: 1, index: 10)
        try device.set("ALTNET_INTERFACE=mac:dc:a6:32:01:02:03")
        #expect(try device.run("take") == 0)
        #expect(device.taken == "wlan1")
    }

    @Test(arguments: [
        "mac:", "mac:dc:a6:32:01:02", "mac:dc:a6:32:01:02:03:04", "mac:dc-a6-32-01-02-03", "mac:*", "path:",
        "path:a b", "path:a;reboot", "path:[a]", "path:" + String(repeating: "a", count: 201), "phy:0",
    ])
    func textThatNamesNoRadioIsRefused(text: String) throws {
        let device = try Device()
        for setting in ["ALTNET_INTERFACE", "ALTNET_SPARE_INTERFACE"] {
            try device.set("\(setting)=\(text)")
            #expect(try device.run("take") == 78)
            #expect(device.taken == nil)
        }
    }

    @Test func aSpareOfTheSameRadioIsNotTaken() throws {
        let device = try Device()
        try device.set("ALTNET_INTERFACE=mac:dc:a6:32:01:02:03", "ALTNET_SPARE_INTERFACE=wlan1")
        #expect(try device.run("take") == 0)
        #expect(device.taken == "wlan1")
        try device.set("ALTNET_INTERFACE=mac:dc:a6:32:01:02:03", "ALTNET_SPARE_INTERFACE=path:*/3-1.2:1.0")
        #expect(try device.run("take") == 0)
        #expect(device.taken == "wlan1 wlan0")
    }

    @Test func twoRadiosArePinned() throws {
        let device = try Device()
        try device.set("# Settings", "ALTNET_INTERFACE=wlan1", "ALTNET_SPARE_INTERFACE=wlan0")
        #expect(try device.run("enable") == 0)
        let expected: [Substring] = [
            "ALTNET_INTERFACE=mac:dc:a6:32:01:02:03", "ALTNET_SPARE_INTERFACE=mac:00:c0:ca:11:22:33",
        ]
        #expect(try device.settings().filter { $0.hasPrefix("ALTNET_") } == expected)
        // Nothing more the next time.
        let before = try device.settings()
        #expect(try device.run("enable") == 0)
        #expect(try device.settings() == before)
    }

    @Test func aRadioWithoutALastingAddressIsPinnedByItsPath() throws {
        let device = try Device(stickAddress: "02:11:22:33:44:55")
        try device.set("ALTNET_COUNTRY=DE")
        #expect(try device.run("enable") == 0)
        let expected: [Substring] = ["ALTNET_COUNTRY=DE", "ALTNET_INTERFACE=path:pci0000:00/usb*/*-1/*-1.2/*-1.2:1.0"]
        #expect(try device.settings() == expected)
        #expect(try device.run("take") == 0)
        #expect(device.taken == "wlan0")
    }

    @Test func oneRadioKeepsItsName() throws {
        let device = try Device(hasStick: false)
        try device.set("ALTNET_INTERFACE=wlan1", "ALTNET_SPARE_INTERFACE=wlan1b")
        #expect(try device.run("enable") == 0)
        #expect(try device.settings() == ["ALTNET_INTERFACE=wlan1", "ALTNET_SPARE_INTERFACE=wlan1b"])
    }
}
