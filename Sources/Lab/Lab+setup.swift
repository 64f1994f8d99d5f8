import FoundationEssentials
import Glibc

extension Lab {
    static let root = "/run/altnet-lab"

    /// Waits until no other lab runs on this kernel: there is one air.
    static func takeTurn() async throws -> FileDescriptor {
        mkdir(root, 0o755)
        let path = "\(root)/lock"
        let file = try FileDescriptor(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600), attempt: "open \(path)")
        while flock(file.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK else { throw LabError.lastCall("lock \(path)") }
            try await Task.sleep(for: .milliseconds(50))
        }
        return file
    }

    static func slug(_ name: String) -> String {
        let words = name.lowercased().split { !$0.isASCII || !($0.isLetter || $0.isNumber) }
        return words.joined(separator: "-")
    }

    static func freshDirectory(for name: String) throws(LabError) -> String {
        let path = "\(root)/\(slug(name))"
        try? FileManager.default.removeItem(atPath: path)
        guard mkdir(path, 0o700) == 0 else { throw .lastCall("make \(path)") }
        return path
    }

    /// Takes away programs, radios, namespaces and leases, whoever left them, so that each scenario starts from nothing.
    static func removeLeftovers(log: String) throws(LabError) {
        Program.endLeftovers()
        let files = FileManager.default
        if files.fileExists(atPath: "/sys/module/mac80211_hwsim") {
            try Program.run("modprobe", ["-r", "mac80211_hwsim"], log: log)
        }
        if files.fileExists(atPath: "/sys/class/net/cable0") {
            try Program.run("ip", ["link", "delete", "cable0"], log: log)
        }
        let namespaces = ((try? files.contentsOfDirectory(atPath: "/run/netns")) ?? []).filter(isOurs)
        if !namespaces.isEmpty {
            try batch(namespaces.map { "netns delete \($0)" }, directory: root, log: log)
        }
        let leases = (try? files.contentsOfDirectory(atPath: "/var/lib/dhcpcd")) ?? []
        for lease in leases where lease.hasPrefix("wlan") && lease.hasSuffix(".lease") {
            try? files.removeItem(atPath: "/var/lib/dhcpcd/\(lease)")
        }
    }

    private static func isOurs(_ namespace: String) -> Bool {
        namespace.hasPrefix("ap") && Int(namespace.dropFirst(2)) != nil
    }

    /// Has one `ip` do several things: starting a program is what costs.
    static func batch(_ commands: [String], directory: String, log: String) throws(LabError) {
        let path = "\(directory)/ip.batch"
        try write(commands.map { $0 + "\n" }.joined(), to: path)
        try Program.run("ip", ["-batch", path], log: log)
    }

    /// - Parameter disposition: `O_TRUNC` or `O_APPEND`.
    static func write(_ text: String, to path: String, _ disposition: Int32 = O_TRUNC) throws(LabError) {
        let file = try FileDescriptor(
            open(path, O_WRONLY | O_CREAT | O_CLOEXEC | disposition, 0o600), attempt: "write \(path)")
        let written = Glibc.write(file.number, text, text.utf8.count)
        guard written == text.utf8.count else { throw .lastCall("write \(path)") }
    }
}
