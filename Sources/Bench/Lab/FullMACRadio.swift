import AgentModel
import Dongle
import FoundationEssentials
import Glibc

/// The kind of radio that the device of a lab has.
public enum RadioKind: String, Sendable {
    /// mac80211_hwsim's: the kernel does what the 802.11 standard asks of a station.
    case softMAC = "hwsim"
    /// One with firmware of its own, behind the driver of the Raspberry Pi's (brcmfmac).
    case fullMAC = "fullmac"

    /// Whether it can be in a WPA3 network: brcmfmac leaves SAE to the firmware, which has none, but for the copy that takes the dongle for
    /// one of Cypress' (board/lab/install, from Linux 6.18 on).
    public var hasSAE: Bool {
        self == .softMAC || access("/lib/modules/\(Lab.kernel.trimmingLine)/updates/brcmfmac.ko", F_OK) == 0
    }

    /// `$LAB_RADIO`; mac80211_hwsim's where it is not set. Nil for a value that is none.
    static let wanted = ProcessInfo.processInfo.environment["LAB_RADIO"].map(Self.init(rawValue:)) ?? .softMAC
}

/// The device's radio where it is one with firmware of its own: a simulated USB dongle at the kernel's unmodified brcmfmac
/// driver, with what can happen to such a radio.
public actor FullMACRadio {
    private let directory: String
    private var dongle: FullMACDongle?

    /// The namespace of the simulated radio that carries out what the firmware orders.
    static let namespace = NetworkNamespace(name: "firmware")
    /// Loads brcmfmac, with its options as Raspberry Pi OS has them: no supplicant in the firmware, no SAE by it, no survey,
    /// and, unless `roams`, no roaming of the firmware's own.
    private static func loadDriver(roams: Bool, log: String) throws(LabError) {
        let wanted = roams ? "0" : "1"
        let option = "/sys/module/brcmfmac/parameters/roamoff"
        let there = try? String(contentsOfFile: option, encoding: .utf8).trimmingLine
        guard there.map(String.init) != wanted else { return }
        if there != nil {
            // In newer kernels, a module for each vendor depends on it.
            for module in ["brcmfmac_wcc", "brcmfmac_cyw", "brcmfmac_bca", "brcmfmac"]
            where FileManager.default.fileExists(atPath: "/sys/module/\(module)") {
                try Program.run("rmmod", [module], log: log)
            }
        }
        try Program.run("modprobe", ["brcmfmac", "roamoff=\(wanted)", "feature_disable=0x282000"], log: log)
    }

    /// - Parameter hidden: a simulated radio for it, which disappears from the lab's own namespace.
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
            try NetworkInterface(hidden.interface).setUp(true)
        }
    }
    private let hidden: String

    // MARK: What happens to it

    /// Plugs the dongle in, with its firmware as after its start; returns when its interface is there.
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

    /// Plugs it in again.
    public func plug() async throws { try await plugIn() }

    /// Pulls its plug: the interface disappears, and nothing is said in the air. Returns when it is gone.
    public func unplug() async throws {
        guard let dongle else { return }
        self.dongle = nil
        dongle.unplug()
        try await eventually(within: .seconds(10), "brcmfmac's interface to go") { Self.present == nil }
    }

    /// The firmware dies and is started anew after so long: until then there is no radio.
    public func crash(for duration: Duration) async throws {
        try await unplug()
        try await Task.sleep(for: duration)
        try await plugIn()
    }

    /// The driver is loaded anew, with its own default: the firmware moves by itself to another access point of its network,
    /// and gives up a silent one after 2 s. For this scenario.
    public func roamByItself() async throws {
        try await unplug()
        try Self.loadDriver(roams: true, log: "\(directory)/commands.log")
        try await plugIn()
    }

    /// The firmware refuses scans, until `refuseScans(false)`.
    public func refuseScans(_ on: Bool = true) { dongle?.faults.refusesScans = on }

    /// Scans do not end, until `endlessScans(false)`.
    public func endlessScans(_ on: Bool = true) { dongle?.faults.hasEndlessScans = on }

    /// The firmware answers no command, although frames still go to and fro, until `hang(false)` or until a driver loads it
    /// anew. The driver, on USB, never recovers from that by itself: it has to be bound anew, or the plug be pulled.
    public func hang(_ on: Bool = true) { dongle?.faults.hangs = on }

    // MARK: Where it is

    /// It as the driver shows it; nil while it is not there.
    nonisolated static var present: Radio? {
        let root = "/sys/class/ieee80211"
        for phy in (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? [] {
            let device = "\(root)/\(phy)/device"
            // The driver names the USB device, not the one of its interfaces that it serves.
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
