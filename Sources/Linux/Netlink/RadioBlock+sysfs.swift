import AgentModel
import Glibc

extension RadioBlock {
    /// Reads the rfkill state of an interface's radio (Documentation/ABI/stable/sysfs-class-rfkill).
    /// - Parameter folder: folder of all interfaces.
    /// - Returns: nil if the radio is not blocked or the kernel lacks rfkill.
    public init?(of interface: String, in folder: String = "/sys/class/net") {
        let radio = "\(folder)/\(interface)/phy80211"
        guard !interface.contains("/"), let entries = opendir(radio) else { return nil }
        defer { closedir(entries) }
        var found: Set<RadioBlock> = []
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name.hasPrefix("rfkill") else { continue }
            for block in [RadioBlock.hard, .soft] where Self.isSet("\(radio)/\(name)/\(block.rawValue)") {
                found.insert(block)
            }
        }
        // Prefers the hard block, because a program cannot remove it.
        guard let block = found.contains(.hard) ? .hard : found.first else { return nil }
        self = block
    }

    private static func isSet(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var digit: UInt8 = 0
        return read(file, &digit, 1) == 1 && digit == UInt8(ascii: "1")
    }
}
