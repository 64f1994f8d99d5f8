import FoundationEssentials
import Glibc

/// Memory limit for a program and its children, enforced by a control group as systemd does for `MemoryMax=`
/// (cgroups(7), Documentation/admin-guide/cgroup-v2.rst).
public struct MemoryLimit: Sendable {
    private static let root = "/sys/fs/cgroup"
    public let folder: String

    /// - Parameter unit: name of a unit in board/systemd with `MemoryMax=`.
    public init(of unit: String) throws {
        let text = try String(contentsOfFile: "\(Lab.checkout)/board/systemd/\(unit)", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("MemoryMax=") }
        guard let limit = line?.split(separator: "=").last else {
            throw LabError.unavailable(reason: "\(unit) has no MemoryMax=")
        }
        if access(Self.root + "/cgroup.controllers", F_OK) != 0, mount("none", Self.root, "cgroup2", 0, nil) != 0 {
            throw LabError.lastCall("mount cgroup2")
        }
        try Lab.write("+memory", to: Self.root + "/cgroup.subtree_control", 0)
        folder = "\(Self.root)/\(unit)"
        mkdir(folder, 0o755)
        try Lab.write(String(limit), to: folder + "/memory.max", 0)
        // Disable swap, because the boards have none.
        if access(folder + "/memory.swap.max", F_OK) == 0 { try Lab.write("0", to: folder + "/memory.swap.max", 0) }
    }

    var command: [String] { ["/bin/sh", "-c", "echo $$ >\(folder)/cgroup.procs && exec \"$@\"", "sh"] }

    /// Used memory in bytes: anonymous memory and socket buffers, without file-backed pages.
    public func used() throws -> Int {
        try ["anon ", "sock "].map { try number(named: $0, in: "memory.stat") }.reduce(0, +)
    }

    /// Number of processes that the kernel killed because memory ran out.
    public func kills() throws -> Int { try number(named: "oom_kill ", in: "memory.events") }

    private func number(named name: String, in file: String) throws -> Int {
        let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        guard let number = line.flatMap({ Int($0.dropFirst(name.count)) }) else {
            throw LabError.unexpected("no \(name)in \(file)")
        }
        return number
    }
}
