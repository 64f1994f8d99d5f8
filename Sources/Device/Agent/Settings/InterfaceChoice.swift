import AgentModel
import Glibc
import Linux

/// A Wi-Fi interface as the settings name it. At a start, the kernel may give two radios each other's names; their
/// addresses and paths stay.
public enum InterfaceChoice: Sendable, Equatable, CustomStringConvertible {
    case name(String)
    /// Permanent address of the radio. The interface's own address may be random.
    case hardwareAddress(BSSID)
    /// Pattern for the path of the radio's device below `/sys/devices`; `*` stands for any text, also with slashes.
    case path(String)

    /// Maximum bytes of a path.
    static let pathLength = 200

    /// Parses the name of an interface, `mac:dc:a6:32:01:02:03` or `path:platform/soc/fe300000.mmcnr/*`.
    init?(_ text: String) {
        if text.isInterfaceName {
            self = .name(text)
        } else if text.hasPrefix("mac:"), let address = BSSID(text.dropFirst(4)) {
            self = .hardwareAddress(address)
        } else if text.hasPrefix("path:"), Self.isPath(text.dropFirst(5)) {
            self = .path(String(text.dropFirst(5)))
        } else {
            return nil
        }
    }

    private static func isPath(_ text: Substring) -> Bool {
        (1...pathLength).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII
                    && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                        || "._-:,@+/*".unicodeScalars.contains(scalar))
            }
    }

    /// No interface has the description of an address or a path as its name, because of the colon.
    public var description: String {
        switch self {
        case .name(let name): name
        case .hardwareAddress(let address): "mac:\(address)"
        case .path(let path): "path:\(path)"
        }
    }

    /// Returns the name of the interface; nil while its radio is missing. Of several interfaces on the radio, returns
    /// the oldest, because the setup access point and the spare interface are added later.
    /// - Parameter system: folder where sysfs is mounted.
    func find(in system: String = "/sys") -> String? {
        if case .name(let name) = self { return name }
        return WirelessInterfaces.names(in: system).filter { isRadio(of: $0, in: system) }
            .min { index(of: $0, in: system) < index(of: $1, in: system) }
    }

    private func isRadio(of interface: String, in system: String) -> Bool {
        let folder = "\(system)/class/net/\(interface)"
        switch self {
        case .name(let name): return name == interface
        case .hardwareAddress(let address):
            return KernelFile.read("\(folder)/phy80211/macaddress").flatMap { BSSID($0) } == address
        case .path(let pattern):
            guard let devices = Self.resolved("\(system)/devices"), let device = Self.resolved("\(folder)/device"),
                device.hasPrefix(devices + "/")
            else { return false }
            return fnmatch(pattern, String(device.dropFirst(devices.count + 1)), 0) == 0
        }
    }

    private func index(of interface: String, in system: String) -> Int {
        KernelFile.read("\(system)/class/net/\(interface)/ifindex").flatMap { Int($0) } ?? .max
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}

/// The interfaces of Wi-Fi radios, which have a `phy80211` in sysfs.
enum WirelessInterfaces {
    /// - Parameter system: folder where sysfs is mounted.
    static func names(in system: String = "/sys") -> [String] {
        guard let folder = opendir("\(system)/class/net") else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if access("\(system)/class/net/\(name)/phy80211", F_OK) == 0 { names.append(name.printable) }
        }
        return names.sorted()
    }
}

extension AgentSettings {
    /// Whether the settings name other interfaces than at the start, because a radio has come with another name. While
    /// a radio is missing, its interface stays the same.
    func hasRadioMoved(in system: String = "/sys") -> Bool {
        let found = interfaceChoice.find(in: system)
        let spare = spareChoice?.find(in: system)
        return Self.hasMoved(from: interface, to: found, in: system)
            || Self.hasMoved(from: spareInterface, to: spare == found ? nil : spare, in: system)
    }

    private static func hasMoved(from before: String?, to now: String?, in system: String) -> Bool {
        guard now != before else { return false }
        if now != nil { return true }
        // The interface is another radio's now.
        return before.map { access("\(system)/class/net/\($0)", F_OK) == 0 } ?? false
    }
}

/// End of the agent because a radio has another name than at the start. The service manager starts it again.
struct RadioMoved: Error, CustomStringConvertible {
    let choices: [InterfaceChoice]

    var description: String {
        "\(choices.map(\.description).joined(separator: " or ")) has another name now: restart the agent"
    }
}
