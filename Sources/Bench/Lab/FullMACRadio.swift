import AgentModel
import Dongle
import FoundationEssentials
import Glibc

public enum RadioKind: String, Sendable {
    /// Radio of mac80211_hwsim. The kernel implements the 802.11 station.
    case softMAC = "hwsim"
    /// Radio with separate firmware and the Raspberry Pi's driver (brcmfmac).
    case fullMAC = "fullmac"

    /// Whether the radio supports WPA3. brcmfmac leaves SAE to the firmware, which does not support it. Only the copy
    /// of the driver that treats the dongle as a Cypress chip supports SAE (board/lab/install, from Linux 6.18 on).
    public var hasSAE: Bool {
        self == .softMAC || access("/lib/modules/\(Lab.kernel.trimmingLine)/updates/brcmfmac.ko", F_OK) == 0
    }

    /// Kind of radio in `$LAB_RADIO`, or mac80211_hwsim if the variable is not set; nil for an invalid value.
    static let wanted = ProcessInfo.processInfo.environment["LAB_RADIO"].map(Self.init(rawValue:)) ?? .softMAC
}

/// The device's radio with separate firmware, and its faults. It is a simulated USB dongle, served by the kernel's
/// unmodified brcmfmac driver.
public actor FullMACRadio {
    private let directory: String
    private var dongle: FullMACDongle?

    /// Namespace of the simulated radio that transmits for the firmware.
    static let namespace = NetworkNamespace(name: "firmware")
    /// Loads brcmfmac with the options of Raspberry Pi OS: no supplicant, SAE or survey in the firmware. The firmware
    /// roams only with `roams`.
    private static func loadDriver(roams: Bool, log: String) throws(LabError) {
        let wanted = roams ? "0" : "1"
        let option = "/sys/module/brcmfmac/parameters/roamoff"
        let there = try? String(contentsOfFile: option, encoding: .utf8).trimmingLine
        guard there.map(String.init) != wanted else { return }
        if there != nil {
            // In newer kernels, a module per vendor depends on brcmfmac. Remove it first.
            for module in ["brcmfmac_wcc", "brcmfmac_cyw", "brcmfmac_bca", "brcmfmac"]
            where FileManager.default.fileExists(atPath: "/sys/module/\(module)") {
                try Program.run("rmmod", [module], log: log)
            }
        }
        try Program.run("modprobe", ["brcmfmac", "roamoff=\(wanted)", "feature_disable=0x282000"], log: log)
    }

    /// - Parameter hidden: radio that transmits for the firmware. The initialiser moves it out of the lab's namespace.
    init(over hidden: Radio, directory: String) throws(LabError) {
        self.directory = directory
        let log = "\(directory)/commands.log"
        try Program.run("modprobe", ["vhci_hcd"], log: log)
        try Self.loadDriver(roams: false, log: log)
        try Lab.batch(["netns add \(Self.namespace.name)"], directory: directory, log: log)
        try Program.run("iw", ["phy", hidden.phy, "set", "netns", "name", Self.namespace.name], log: log)
        self.hidden = hidden.interface
        try Self.namespace.enter { () throws(LabError) in
            try Lab.write("1", to: "/proc/sys/net/ipv6/conf/\(hidden.interface)/disable_ipv6")
            try NamespaceInterface(hidden.interface).setUp(true)
        }
    }
    private let hidden: String

    // MARK: Faults

    /// Plugs the dongle in and restarts its firmware. Returns when the dongle's interface exists.
    @discardableResult
    func plugIn() async throws -> Radio {
        let (hidden, log) = (hidden, "\(directory)/firmware.log")
        dongle = try Self.namespace.enter { () throws(LabError) in
            do throws(DongleError) {
                return try FullMACDongle(over: hidden, log: log)
            } catch {
                throw .unavailable(reason: "\(error)")
            }
        }
        var radio: Radio?
        try await eventually(within: .seconds(10), "brcmfmac to bring an interface") {
            radio = Self.present
            return radio != nil
        }
        guard let radio else { throw LabError.unexpected("brcmfmac's interface has disappeared") }
        return radio
    }

    public func plug() async throws { try await plugIn() }

    /// Unplugs the dongle, which sends no further frame. Returns when its interface has disappeared.
    public func unplug() async throws {
        guard let dongle else { return }
        self.dongle = nil
        dongle.unplug()
        try await eventually(within: .seconds(10), "brcmfmac's interface to go") { Self.present == nil }
    }

    /// Crashes the firmware: the radio is missing for this duration, then the firmware restarts.
    public func crash(for duration: Duration) async throws {
        try await unplug()
        try await Task.sleep(for: duration)
        try await plugIn()
    }

    /// Reloads the driver with its defaults for this scenario. The firmware then roams, and reports an access point as
    /// lost after 2 s of silence.
    public func roamByItself() async throws {
        try await unplug()
        try Self.loadDriver(roams: true, log: "\(directory)/commands.log")
        try await plugIn()
    }

    public func refuseScans(_ on: Bool = true) { dongle?.faults.refusesScans = on }

    public func endlessScans(_ on: Bool = true) { dongle?.faults.hasEndlessScans = on }

    /// Makes the firmware ignore commands until a reload. Frames still pass. To recover, bind the USB driver again or
    /// replug the dongle.
    public func hang() { dongle?.faults.hangs = true }

    // MARK: Lookup

    /// Radio that the driver has created; nil if there is none.
    nonisolated static var present: Radio? {
        let root = "/sys/class/ieee80211"
        for phy in (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? [] {
            let device = "\(root)/\(phy)/device"
            // The folder `device` is the USB device, not its interface.
            guard let vendor = try? String(contentsOfFile: "\(device)/idVendor", encoding: .utf8),
                vendor.trimmingLine == "04b4",
                let interface = try? FileManager.default.contentsOfDirectory(atPath: "\(device)/net").first,
                let text = try? String(contentsOfFile: "\(root)/\(phy)/macaddress", encoding: .utf8),
                let address = BSSID(text.trimmingLine)
            else { continue }
            return Radio(phy: phy, interface: interface, address: address)
        }
        return nil
    }
}
