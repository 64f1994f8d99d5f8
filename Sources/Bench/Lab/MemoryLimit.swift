import FoundationEssentials
import Glibc

/// A limit of memory for a program and its children: a control group, as systemd's `MemoryMax=` makes one
/// (cgroups(7), Documentation/admin-guide/cgroup-v2.rst).
public struct MemoryLimit: Sendable {
    private static let root = "/sys/fs/cgroup"
    /// The folder of the control group.
    public let folder: String

    /// - Parameter unit: the name of a unit in board/systemd whose `MemoryMax=` counts.
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
        // Without swap, as on the boards.
        if access(folder + "/memory.swap.max", F_OK) == 0 { try Lab.write("0", to: folder + "/memory.swap.max", 0) }
    }

    /// The words before a command's that make it run within the limit.
    var command: [String] { ["/bin/sh", "-c", "echo $$ >\(folder)/cgroup.procs && exec \"$@\"", "sh"] }

    /// Bytes in use: anonymous memory and the buffers of sockets, without what files back.
    public func used() throws -> Int {
        try ["anon ", "sock "].map { try number(named: $0, in: "memory.stat") }.reduce(0, +)
    }

    /// How many times the kernel ended a process for want of memory.
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
