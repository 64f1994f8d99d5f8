import FoundationEssentials
import Glibc

@testable import Lab

/// Root's helper that binds drivers again, run for the agent like systemd does.
struct RadioHelper: Sendable {
    private static let socket = "/run/altnet-radio.sock"
    /// Interfaces that root has claimed for altnet (board/systemd/altnet-interface).
    private static let taken = "/run/altnet-interface"
    /// The helper's records of devices.
    private static let memory = "/run/altnet-radio"
    private let activator: Program

    /// - Parameters:
    ///   - path: board/systemd/altnet-radio.
    ///   - interface: interface of the device.
    init(_ path: String, interface: String, log: String) throws(LabError) {
        mkdir(Self.taken, 0o755)
        try Lab.write(interface + "\n", to: Self.taken + "/interfaces")
        activator = try Program(
            "systemd-socket-activate", ["--listen=" + Self.socket, "--accept", "--inetd", "sh", path], log: log)
    }

    func end() {
        activator.kill()
        unlink(Self.socket)
        for folder in [Self.taken, Self.memory] { try? FileManager.default.removeItem(atPath: folder) }
    }
}

extension Lab {
    /// Starts root's helper for radios. The scenario must end it.
    /// - Parameter path: the package's helper.
    func radioHelper(_ path: String) throws -> RadioHelper {
        try RadioHelper(path, interface: station.interface, log: "\(directory)/commands.log")
    }
}
