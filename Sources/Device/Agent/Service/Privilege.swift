import Glibc

/// Privileges of this process (capabilities(7)).
enum Privilege {
    private static let networkAdministration: UInt64 = 1 << 12

    /// True if the process may configure networks, or if its capabilities are unknown.
    static var mayConfigureNetworks: Bool {
        capabilities(in: content(of: "/proc/self/status")).map { $0 & networkAdministration != 0 } ?? true
    }

    /// Returns the effective capabilities from the content of `/proc/self/status`; nil if it has none.
    static func capabilities(in status: String) -> UInt64? {
        status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
            .flatMap { line in line.split(whereSeparator: { $0 == ":" || $0 == "\t" }).last }
            .flatMap { UInt64($0, radix: 16) }
    }

    private static func content(of path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
