import AgentModel
import Foundation
import Testing

@testable import Agent

@Suite struct InterfaceChoiceTests {
    /// A folder like sysfs, removed at the end.
    private final class System {
        let path: String

        init() throws {
            let folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            path = folder.path + "/altnet-" + UUID().uuidString
            try FileManager.default.createDirectory(atPath: path + "/class/net/eth0", withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func plug(_ name: String, _ device: String, address: String = "", index: Int = 3) throws {
            let (folder, place) = ("\(path)/class/net/\(name)", "\(path)/devices/\(device)")
            for folder in [folder, place + "/ieee80211/phy"] {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            }
            try "\(address)\n".write(toFile: place + "/ieee80211/phy/macaddress", atomically: false, encoding: .utf8)
            try "\(index)\n".write(toFile: folder + "/ifindex", atomically: false, encoding: .utf8)
            for (link, target) in [("device", place), ("phy80211", place + "/ieee80211/phy")] {
                try FileManager.default.createSymbolicLink(
                    atPath: "\(folder)/\(link)", withDestinationPath: target)
            }
        }

        func unplug(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(path)/class/net/\(name)") }
    }

    private static let card = "platform/soc/fe300000.mmcnr/mmc_host/mmc1/mmc1:0001/mmc1:0001:1"
    private static let stick = "pci0000:00/usb3/3-1/3-1.2/3-1.2:1.0"

    /// Both radios: the stick has the lower name.
    private func system() throws -> System {
        let system = try System()
        try system.plug("wlan0", Self.stick, address: "00:c0:ca:11:22:33", index: 3)
        try system.plug("wlan1", Self.card, address: "dc:a6:32:01:02:03", index: 4)
        return system
    }

    // As in BoardTests, for the script that takes the interface.
    @Test(arguments: [
        ("mac:dc:a6:32:01:02:03", "wlan1"), ("mac:DC:A6:32:01:02:03", "wlan1"), ("mac:00:c0:ca:11:22:33", "wlan0"),
        ("path:platform/soc/fe300000.mmcnr/*", "wlan1"), ("path:*/3-1.2:1.0", "wlan0"),
        ("path:pci0000:00/usb3/3-1/3-1.2/3-1.2:1.0", "wlan0"), ("path:*", "wlan0"), ("wlan1", "wlan1"),
        ("mac:dc:a6:32:01:02:04", nil), ("path:platform/soc/fe300000.mmcnr", nil),
    ])
    func aRadioIsFoundUnderItsPresentName(text: String, name: String?) throws {
        let choice = try #require(InterfaceChoice(text))
        let system = try system()
        #expect(choice.find(in: system.path) == name)
        #expect(choice.description == (text.hasPrefix("mac:") ? text.lowercased() : text))
    }

    @Test func theOldestInterfaceOfARadioIsTheStation() throws {
        let system = try system()
        try system.plug("ap0", Self.card, address: "dc:a6:32:01:02:03", index: 10)
        #expect(InterfaceChoice("mac:dc:a6:32:01:02:03")?.find(in: system.path) == "wlan1")
    }

    @Test(arguments: [
        "mac:", "mac:dc:a6:32:01:02", "mac:dc:a6:32:01:02:03:04", "mac:dc-a6-32-01-02-03", "mac:*", "path:",
        "path:a b", "path:a;reboot", "path:[a]", "path:" + String(repeating: "a", count: 201), "phy:0",
    ])
    func textThatNamesNoRadioIsRefused(text: String) {
        #expect(InterfaceChoice(text) == nil)
        for name in ["ALTNET_INTERFACE", "ALTNET_SPARE_INTERFACE"] {
            let error = #expect(throws: InvalidSettings.self) { try AgentSettings(environment: [name: text]) }
            #expect(error?.problems.map(\.name) == [name])
        }
    }

    /// No interface can have that name: the kernel allows no colon.
    @Test func aMissingRadioIsWaitedForUnderTheTextOfItsChoice() throws {
        let settings = try AgentSettings(environment: [
            "ALTNET_INTERFACE": "mac:02:ff:ff:ff:ff:01", "ALTNET_SPARE_INTERFACE": "mac:02:ff:ff:ff:ff:02",
        ])
        #expect(settings.interface == "mac:02:ff:ff:ff:ff:01" && !settings.interface.isInterfaceName)
        #expect(settings.spareInterface == nil && settings.spareChoice != nil)
        let twice = ["ALTNET_INTERFACE": "path:a/*", "ALTNET_SPARE_INTERFACE": "path:a/*"]
        #expect(throws: InvalidSettings.self) { try AgentSettings(environment: twice) }
    }

    /// The agent restarts when a radio comes under another name, and not while it is missing.
    @Test func aRadioUnderAnotherNameIsNoticed() throws {
        let system = try System()
        var settings = try AgentSettings(environment: ["ALTNET_INTERFACE": "mac:dc:a6:32:01:02:03"])
        #expect(!settings.hasRadioMoved(in: system.path))
        try system.plug("wlan0", Self.stick, address: "00:c0:ca:11:22:33")
        #expect(!settings.hasRadioMoved(in: system.path))
        try system.plug("wlan1", Self.card, address: "dc:a6:32:01:02:03")
        #expect(settings.hasRadioMoved(in: system.path))
        settings.interface = "wlan1"
        #expect(!settings.hasRadioMoved(in: system.path))
        try system.unplug("wlan1")
        #expect(!settings.hasRadioMoved(in: system.path))
        // Another radio has got its name.
        try system.plug("wlan1", Self.stick, address: "00:c0:ca:11:22:33")
        #expect(settings.hasRadioMoved(in: system.path))
    }

    @Test func aSpareRadioUnderAnotherNameIsNoticed() throws {
        let system = try system()
        var settings = try AgentSettings(environment: [
            "ALTNET_INTERFACE": "mac:dc:a6:32:01:02:03", "ALTNET_SPARE_INTERFACE": "path:*/3-1.2:1.0",
        ])
        settings.interface = "wlan1"
        #expect(settings.hasRadioMoved(in: system.path))
        settings.spareInterface = "wlan0"
        #expect(!settings.hasRadioMoved(in: system.path))
        // A spare interface on the first one's radio is not used.
        var same = try AgentSettings(environment: [
            "ALTNET_INTERFACE": "mac:dc:a6:32:01:02:03", "ALTNET_SPARE_INTERFACE": "wlan1",
        ])
        (same.interface, same.spareInterface) = ("wlan1", nil)
        #expect(!same.hasRadioMoved(in: system.path))
    }

    @Test func namesNeverMove() throws {
        let settings = try AgentSettings(environment: ["ALTNET_INTERFACE": "wlan7", "ALTNET_SPARE_INTERFACE": "wlan8"])
        let system = try system()
        #expect(!settings.hasRadioMoved(in: system.path))
    }
}
