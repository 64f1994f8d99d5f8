import Glibc

/// What sysfs says of network interfaces: files of the kernel's that are never on a disk.
struct LinkFiles {
    /// Has a folder for each interface.
    let folder: String

    static let system = LinkFiles(folder: "/sys/class/net")

    /// The `DEVTYPE` by which cfg80211 and modem drivers mark their interfaces.
    func deviceType(of interface: String) -> String? {
        let line = contents("uevent", of: interface)?.split(separator: UInt8(ascii: "\n")).first {
            $0.starts(with: "DEVTYPE=".utf8)
        }
        return line.map { String(decoding: $0.dropFirst("DEVTYPE=".utf8.count), as: UTF8.self) }
    }

    /// How many frames the interface has sent, since some moment of the driver's choice.
    func framesSent(of interface: String) -> UInt64? {
        contents("statistics/tx_packets", of: interface).flatMap { contents in
            UInt64(String(decoding: contents.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
        }
    }

    /// The name of the driver of the hardware behind the interface.
    func driver(of interface: String) -> String? {
        guard let path = path(of: interface) else { return nil }
        var target = [CChar](repeating: 0, count: 1024)
        let count = readlink("\(path)/device/driver", &target, target.count)
        guard count > 0 else { return nil }
        let name = target[..<count].split(separator: CChar(bitPattern: UInt8(ascii: "/"))).last
        return name.map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    }

    /// The beginning of a file.
    private func contents(_ name: String, of interface: String) -> ArraySlice<UInt8>? {
        guard let path = path(of: interface) else { return nil }
        let file = open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var contents = [UInt8](repeating: 0, count: 1024)
        let count = read(file, &contents, contents.count)
        return count > 0 ? contents[..<count] : nil
    }

    private func path(of interface: String) -> String? {
        guard !interface.isEmpty, !interface.contains("/"), interface != ".", interface != ".." else { return nil }
        return "\(folder)/\(interface)"
    }
}
