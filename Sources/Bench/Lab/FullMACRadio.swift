import AgentModel
import Dongle
import FoundationEssentials
import Glibc

public enum RadioKind: String, Sendable {
    /// mac80211_hwsim: the kernel implements the 802.11 station.
    case softMAC = "hwsim"
    /// A radio with its own firmware and the Raspberry Pi's driver (brcmfmac).
    case fullMAC = "fullmac"

    /// Whether the radio supports WPA3. brcmfmac leaves SAE to the firmware, which has none. Only the copy of the
    /// driver that treats the dongle as Cypress' supports it (board/lab/install, from Linux 6.18 on).
    public var hasSAE: Bool {
        self == .softMAC || access("/lib/modules/\(Lab.kernel.trimmingLine)/updates/brcmfmac.ko", F_OK) == 0
    }

    /// Kind of radio from `$LAB_RADIO`, or mac80211_hwsim if it is not set; nil for an invalid value.
    static let wanted = ProcessInfo.processInfo.environment["LAB_RADIO"].map(Self.init(rawValue:)) ?? .softMAC
}

/// The device's radio with its own firmware: a simulated USB dongle at the kernel's unmodified brcmfmac driver, and its
/// faults.
public actor FullMACRadio {
    private let directory: String
    private var dongle: FullMACDongle?

    /// Namespace of the simulated radio that carries out the firmware's orders.
    static let namespace = NetworkNamespace(name: "firmware")
    /// Loads brcmfmac with the options of Raspberry Pi OS: no supplicant, SAE or survey in the firmware, and no roaming
    /// unless `roams`.
    private static func loadDriver(roams: Bool, log: String) throws(LabError) {
        let wanted = roams ? "0" : "1"
        let option = "/sys/module/brcmfmac/parameters/roamoff"
        let there = try? String(contentsOfFile: option, encoding: .utf8).trimmingLine
        guard there.map(String.init) != wanted else { return }
        if there != nil {
            // In newer kernels, a module per vendor depends on it.
            for module in ["brcmfmac_wcc", "brcmfmac_cyw", "brcmfmac_bca", "brcmfmac"]
            where FileManager.default.fileExists(atPath: "/sys/module/\(module)") {
                try Program.run("rmmod", [module], log: log)
            }
        }
        try Program.run("modprobe", ["brcmfmac", "roamoff=\(wanted)", "feature_disable=0x282000"], log: log)
    }

    /// - Parameter hidden: radio that carries out the firmware's orders. It leaves the lab's namespace.
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

    // MARK: What happens to it

    /// Plugs the dongle in with restarted firmware. Returns when its interface exists.
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
        guard let radio else { throw LabError.unexpected("brcmfmac's interface has gone again") }
        return radio
    }

    public func plug() async throws { try await plugIn() }

    /// Unplugs the dongle, without a frame in the air. Returns when its interface has disappeared.
    public func unplug() async throws {
        guard let dongle else { return }
        self.dongle = nil
        dongle.unplug()
        try await eventually(within: .seconds(10), "brcmfmac's interface to go") { Self.present == nil }
    }

    /// Crashes the firmware: there is no radio for this long, then the firmware restarts.
    public func crash(for duration: Duration) async throws {
        try await unplug()
        try await Task.sleep(for: duration)
        try await plugIn()
    }

    /// Reloads the driver with its defaults for this scenario: the firmware roams, and gives up a silent access point
    /// after 2 s.
    public func roamByItself() async throws {
        try await unplug()
        try Self.loadDriver(roams: true, log: "\(directory)/commands.log")
        try await plugIn()
    }

    public func refuseScans(_ on: Bool = true) { dongle?.faults.refusesScans = on }

    public func endlessScans(_ on: Bool = true) { dongle?.faults.hasEndlessScans = on }

    /// Makes the firmware ignore commands until a reload. Frames still pass. The USB driver cannot recover from that:
    /// it must be bound again, or the dongle replugged.
    public func hang() { dongle?.faults.hangs = true }

    // MARK: Where it is

    /// The radio as the driver shows it; nil if it is missing.
    nonisolated static var present: Radio? {
        let root = "/sys/class/ieee80211"
        for phy in (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? [] {
            let device = "\(root)/\(phy)/device"
            // The driver names the USB device, not its interface.
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
