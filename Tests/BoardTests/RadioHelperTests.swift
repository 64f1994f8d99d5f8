import Foundation
import Testing

/// Root's helper for radios that do not work, which carries out what the agent's user asks, taken over or not.
@Suite(
    .enabled(if: ["dash", "busybox"].allSatisfy(Board.hasProgram), "needs dash and busybox"), .timeLimit(.minutes(10)))
struct RadioHelperTests {
    /// Debian's and busybox's.
    private static let shells = ["dash", "busybox sh"]

    /// A board whose sysfs is a folder: writing to `bind` and `unbind` leaves the name there.
    private struct Device {
        let board: Board
        let shell: String
        var root: String { board.place }

        init(shell: String = "dash", recovery: String? = nil, uptime: Int = 5000) throws {
            (board, self.shell) = (try Board(), shell)
            for folder in ["/etc/altnet", "/run/altnet-interface", "/programs", "/proc", "/sys/class/net"] {
                try make(folder)
            }
            try write("wlan0 wlan1\n", to: "/run/altnet-interface/interfaces")
            if let recovery { try write("ALTNET_RECOVERY=\(recovery)\n", to: "/etc/altnet/altnet.conf") }
            try write("\(uptime).25 4000.00\n", to: "/proc/uptime")
            try write("#!/bin/sh\necho \"$*\" >>\(root)/calls\n", to: "/programs/systemctl")
            chmod(root + "/programs/systemctl", 0o755)
        }

        func make(_ folder: String) throws {
            try FileManager.default.createDirectory(atPath: root + folder, withIntermediateDirectories: true)
        }

        func write(_ text: String, to path: String) throws {
            try text.write(toFile: root + path, atomically: false, encoding: .utf8)
        }

        func link(_ path: String, to target: String) throws {
            try FileManager.default.createSymbolicLink(atPath: root + path, withDestinationPath: target)
        }

        /// A stick on USB that brcmfmac has.
        func plugStick() throws {
            try make("/sys/devices/usb1/1-1/1-1:1.0/net/wlan0")
            try make("/sys/bus/usb/drivers/brcmfmac")
            try make("/sys/bus/usb/devices")
            try link("/sys/class/net/wlan0", to: "../../devices/usb1/1-1/1-1:1.0/net/wlan0")
            try link("/sys/devices/usb1/1-1/1-1:1.0/net/wlan0/device", to: "../..")
            try link("/sys/devices/usb1/1-1/1-1:1.0/subsystem", to: "../../../../bus/usb")
            try link("/sys/devices/usb1/1-1/1-1:1.0/driver", to: "../../../../bus/usb/drivers/brcmfmac")
            try link("/sys/bus/usb/devices/1-1:1.0", to: "../../../devices/usb1/1-1/1-1:1.0")
            try link("/sys/bus/usb/drivers/brcmfmac/1-1:1.0", to: "../../../../devices/usb1/1-1/1-1:1.0")
        }

        /// The radio of a Pi: two functions of a card, whose controller is one of the board's.
        func solderCard() throws {
            let card = "/sys/devices/platform/soc/mmcnr/mmc_host/mmc1/mmc1:0001"
            for function in ["1", "2"] { try make(card + "/mmc1:0001:\(function)") }
            try make(card + "/mmc1:0001:1/net/wlan0")
            try make("/sys/bus/sdio/drivers/brcmfmac")
            try make("/sys/bus/sdio/devices")
            try make("/sys/bus/platform/drivers/mmc-bcm2835")
            try make("/sys/bus/platform/devices")
            try link("/sys/class/net/wlan0", to: "../..\(card.dropFirst(4))/mmc1:0001:1/net/wlan0")
            try link(card + "/mmc1:0001:1/net/wlan0/device", to: "../..")
            for function in ["1", "2"] {
                try link(card + "/mmc1:0001:\(function)/subsystem", to: root + "/sys/bus/sdio")
                try link(card + "/mmc1:0001:\(function)/driver", to: root + "/sys/bus/sdio/drivers/brcmfmac")
                try link("/sys/bus/sdio/devices/mmc1:0001:\(function)", to: root + card + "/mmc1:0001:\(function)")
                try link(
                    "/sys/bus/sdio/drivers/brcmfmac/mmc1:0001:\(function)", to: root + card + "/mmc1:0001:\(function)")
            }
            try link("/sys/devices/platform/soc/mmcnr/subsystem", to: root + "/sys/bus/platform")
            try link("/sys/devices/platform/soc/mmcnr/driver", to: root + "/sys/bus/platform/drivers/mmc-bcm2835")
            try link("/sys/bus/platform/devices/mmcnr", to: root + "/sys/devices/platform/soc/mmcnr")
            try link("/sys/bus/platform/drivers/mmc-bcm2835/mmcnr", to: root + "/sys/devices/platform/soc/mmcnr")
        }

        func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: root + path) }

        func ask(_ question: String) throws -> String {
            try write(question, to: "/question")
            let (status, said) = try Board.run(
                "sh",
                [
                    "-c",
                    """
                    ALTNET_ROOT=\(root) ALTNET_SYSTEMCTL=\(root)/programs/systemctl \
                    \(shell) \(Board.folder)/systemd/altnet-radio <\(root)/question
                    """,
                ])
            #expect(status == 0, "\(said)")
            return said
        }

        func text(_ path: String) -> String? { try? String(contentsOfFile: root + path, encoding: .utf8) }
    }

    @Test(arguments: shells)
    func aStickIsRebound(shell: String) throws {
        let device = try Device(shell: shell)
        try device.plugStick()
        #expect(try device.ask("rebind wlan0\n") == "ok\n")
        #expect(device.text("/sys/bus/usb/drivers/brcmfmac/unbind") == "1-1:1.0")
        #expect(device.text("/sys/bus/usb/drivers/brcmfmac/bind") == "1-1:1.0")
    }

    /// Its interface has gone, and the device is known all the same.
    @Test(arguments: shells)
    func whatWasNotedIsRebound(shell: String) throws {
        let device = try Device(shell: shell)
        try device.plugStick()
        #expect(try device.ask("note wlan0\n") == "ok\n")
        try device.remove("/sys/class/net/wlan0")
        try device.remove("/sys/bus/usb/drivers/brcmfmac/1-1:1.0")
        #expect(try device.ask("rebind wlan0\n") == "ok\n")
        #expect(device.text("/sys/bus/usb/drivers/brcmfmac/unbind") == nil, "no driver has it")
        #expect(device.text("/sys/bus/usb/drivers/brcmfmac/bind") == "1-1:1.0")
    }

    @Test(arguments: shells)
    func bothFunctionsOfACardAreBound(shell: String) throws {
        let device = try Device(shell: shell)
        try device.solderCard()
        #expect(try device.ask("rebind wlan0\n") == "ok\n")
        #expect(device.text("/sys/bus/sdio/drivers/brcmfmac/unbind") == "mmc1:0001:1", "the last one")
        #expect(device.text("/sys/bus/sdio/drivers/brcmfmac/bind") == "mmc1:0001:2", "the last one")
        #expect(device.text("/sys/bus/platform/drivers/mmc-bcm2835/unbind") == nil)
    }

    /// The kernel has taken the card away: its controller finds it again.
    @Test(arguments: shells)
    func theControllerOfACardThatHasGoneIsRebound(shell: String) throws {
        let device = try Device(shell: shell)
        try device.solderCard()
        #expect(try device.ask("note wlan0\n") == "ok\n")
        for function in ["1", "2"] {
            try device.remove("/sys/bus/sdio/devices/mmc1:0001:\(function)")
            try device.remove("/sys/bus/sdio/drivers/brcmfmac/mmc1:0001:\(function)")
        }
        try device.remove("/sys/class/net/wlan0")
        #expect(try device.ask("rebind wlan0\n") == "ok\n")
        #expect(device.text("/sys/bus/platform/drivers/mmc-bcm2835/unbind") == "mmcnr")
        #expect(device.text("/sys/bus/platform/drivers/mmc-bcm2835/bind") == "mmcnr")
    }

    @Test func itIsDoneSeldom() throws {
        let device = try Device()
        try device.plugStick()
        #expect(try device.ask("rebind wlan0\n") == "ok\n")
        #expect(try device.ask("rebind wlan0\n").hasPrefix("refused the driver"))
        try device.write("5601.00 1.0\n", to: "/proc/uptime")
        #expect(try device.ask("rebind wlan0\n") == "ok\n")
    }

    @Test func theOwnerSaysHowFarItGoes() throws {
        for (recovery, rebinds, reboots) in [
            ("none", false, false), ("interface", false, false), ("driver", true, false), ("reboot", true, true),
        ] {
            let device = try Device(recovery: recovery)
            try device.plugStick()
            #expect((try device.ask("rebind wlan0\n") == "ok\n") == rebinds, "\(recovery)")
            #expect((try device.ask("reboot\n") == "ok\n") == reboots, "\(recovery)")
            #expect((device.text("/calls") == "--no-block reboot\n") == reboots)
        }
    }

    @Test func aDeviceThatHasJustStartedIsNotRebooted() throws {
        let device = try Device(recovery: "reboot", uptime: 599)
        #expect(try device.ask("reboot\n").hasPrefix("refused"))
        #expect(device.text("/calls") == nil)
    }

    @Test(arguments: [
        "", "\n", "rebind\n", "rebind eth0\n", "rebind ../wlan0\n", "rebind wlan0 wlan1\n", "rebind .\n",
        "note /etc/shadow\n",
        "reboot now\n", "REBIND wlan0\n", "rebind *\n", "rebind $(reboot)\n", "note wlan00000000000000000000\n",
    ])
    func anyOtherQuestionIsRefused(question: String) throws {
        let device = try Device()
        try device.plugStick()
        #expect(try device.ask(question).hasPrefix("refused"), "\(question)")
        #expect(device.text("/calls") == nil)
        #expect(device.text("/sys/bus/usb/drivers/brcmfmac/bind") == nil)
    }

    @Test func aRadioThatWasNeverThereIsNotBound() throws {
        let answer = try Device().ask("rebind wlan0\n")
        #expect(answer.hasPrefix("refused ") && answer.hasSuffix(" wlan0\n"))
    }
}
