import AgentModel
import FoundationEssentials
import Glibc

/// One simulated radio (mac80211_hwsim) with its one interface.
struct Radio: Sendable {
    /// The kernel's name for it, such as `phy1`.
    let phy: String
    let interface: String
    let address: BSSID

    private static let root = "/sys/class/ieee80211"

    /// All simulated radios in the order in which the kernel made them.
    static func all() throws(LabError) -> [Radio] {
        let files = FileManager.default
        let names = ((try? files.contentsOfDirectory(atPath: root)) ?? []).filter { phy in
            files.fileExists(atPath: "/sys/kernel/debug/ieee80211/\(phy)/hwsim")
        }
        let radios = names.compactMap { phy -> Radio? in
            guard let interface = interface(of: phy),
                let text = try? String(contentsOfFile: "\(root)/\(phy)/macaddress", encoding: .utf8),
                let address = BSSID(text.trimmingLine)
            else { return nil }
            return Radio(phy: phy, interface: interface, address: address)
        }
        return radios.sorted { $0.address < $1.address }
    }

    /// The interface that it has now: whoever took the first one away may have made one of another name.
    var currentInterface: String? { Self.interface(of: phy) }

    private static func interface(of phy: String) -> String? {
        try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(phy)/device/net").first
    }

    /// Makes stations hear everything that this radio sends at `signal` (dBm, -100...-1), given a tx power of 0 dBm.
    ///
    /// debugfs takes negative values only as 64-bit numbers in hex.
    func setReceivedSignal(_ signal: Int) throws(LabError) {
        let file = try FileDescriptor.open("/sys/kernel/debug/ieee80211/\(phy)/hwsim/rx_rssi", O_WRONLY)
        let text = "0x" + String(UInt64(bitPattern: Int64(signal)), radix: 16)
        guard write(file.number, text, text.utf8.count) == text.utf8.count else {
            throw .lastCall("set the signal of \(phy) to \(signal) dBm")
        }
    }
}

extension String {
    var trimmingLine: Substring { prefix { !$0.isNewline } }
}
