import FoundationEssentials
import Glibc

extension Lab {
    static let root = "/run/altnet-lab"
    static let internet = NetworkNamespace(name: "internet")

    /// Waits until no other lab runs on this kernel, because all labs share the simulated air.
    static func lock() async throws -> FileDescriptor {
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

    /// Removes programs, radios, namespaces and leases of earlier labs, so that each scenario starts clean.
    static func removeLeftovers(log: String) throws(LabError) {
        Program.endLeftovers()
        TrustStore.restore()
        let files = FileManager.default
        if files.fileExists(atPath: "/sys/module/mac80211_hwsim") {
            // Use `rmmod`, which keeps the dependencies, unlike `modprobe -r`. Reloading them would take most of the
            // time.
            try Program.run("rmmod", ["mac80211_hwsim"], log: log)
        }
        for link in ["cable0", "wg0"] where files.fileExists(atPath: "/sys/class/net/\(link)") {
            try Program.run("ip", ["link", "delete", link], log: log)
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
        [Self.internet.name, FullMACRadio.namespace.name].contains(namespace)
            || namespace.hasPrefix("ap") && Int(namespace.dropFirst(2)) != nil
    }

    /// Runs several `ip` commands in one process, because each process start is slow.
    /// - Parameter namespace: namespace for the commands; nil for the lab's namespace.
    static func batch(
        _ commands: [String], in namespace: NetworkNamespace? = nil, directory: String, log: String? = nil
    ) throws(LabError) {
        let path = "\(directory)/ip.batch"
        let log = log ?? "\(directory)/commands.log"
        try write(commands.map { $0 + "\n" }.joined(), to: path)
        guard let namespace else { return try Program.run("ip", ["-batch", path], log: log) }
        try namespace.enter { () throws(LabError) in try Program.run("ip", ["-batch", path], log: log) }
    }

    static func write(_ text: String, to path: String, _ disposition: Int32 = O_TRUNC) throws(LabError) {
        let file = try FileDescriptor(
            open(path, O_WRONLY | O_CREAT | O_CLOEXEC | disposition, 0o600), attempt: "write \(path)")
        let written = Glibc.write(file.number, text, text.utf8.count)
        guard written == text.utf8.count else { throw .lastCall("write \(path)") }
    }
}

final class KernelLog: Sendable {
    private let file: FileDescriptor

    init() throws(LabError) {
        file = try FileDescriptor.open("/dev/kmsg", O_RDONLY | O_NONBLOCK)
        lseek(file.number, 0, SEEK_END)
    }

    /// Returns the kernel's messages since the last call, or since the start.
    func read() -> [String] {
        var lines: [String] = []
        var record = [UInt8](repeating: 0, count: 8192)
        while true {
            // Each read returns one record: "level,sequence,time,flags;message" (Documentation/ABI/testing/dev-kmsg).
            let count = Glibc.read(file.number, &record, record.count)
            if count < 0 && errno == EPIPE { continue }  // The record was overwritten: read the next one.
            guard count > 0 else { return lines }
            let text = String(decoding: record.prefix(count), as: UTF8.self)
            lines.append(String(text.drop { $0 != ";" }.dropFirst().prefix { $0 != "\n" }))
        }
    }

    /// Returns lines that show a defect of the kernel. Any such line must fail a test.
    static func complaints(in lines: [String]) -> [String] {
        let marks = [
            "WARNING: ", "BUG: ", "Oops", "general protection fault", "Call Trace:", "INFO: task ", "refcount_t: ",
            "UBSAN: ", "KASAN: ", "detected stall",
        ]
        return lines.filter { line in marks.contains { line.contains($0) } }
    }
}
