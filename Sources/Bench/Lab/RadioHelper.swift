import FoundationEssentials
import Glibc

/// Root's helper that binds drivers anew, as systemd runs it for the agent, and what it goes by.
public struct RadioHelper: Sendable {
    private static let socket = "/run/altnet-radio.sock"
    /// The interfaces that root has taken for altnet (board/systemd/altnet-interface).
    private static let taken = "/run/altnet-interface"
    /// What it remembers of devices.
    private static let memory = "/run/altnet-radio"
    private let activator: Program

    /// - Parameters:
    ///   - path: board/systemd/altnet-radio.
    ///   - interface: the device's.
    init(_ path: String, interface: String, log: String) throws(LabError) {
        mkdir(Self.taken, 0o755)
        try Lab.write(interface + "\n", to: Self.taken + "/interfaces")
        activator = try Program(
            "systemd-socket-activate", ["--listen=" + Self.socket, "--accept", "--inetd", "sh", path], log: log)
    }

    public func end() {
        activator.kill()
        unlink(Self.socket)
        for folder in [Self.taken, Self.memory] { try? FileManager.default.removeItem(atPath: folder) }
    }
}
