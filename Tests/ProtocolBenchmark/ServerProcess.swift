import AppClient
import AppProtocol
import Foundation
import PipedPrograms

/// This program again, as the server.
final class ServerProcess {
    let folder: String
    let port: Int
    private let program: PipedProgram

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("altnet-bench-\(getpid())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        program = try PipedProgram(own, ["serve", folder + "/socket"], errors: .descriptor(2))
        let line = String(decoding: program.output.availableData, as: UTF8.self)
        guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)), port > 0 else {
            throw BenchmarkError("the server did not say where it listens")
        }
        self.port = port
    }

    func endpoint(_ path: Path) throws -> Endpoint {
        switch path {
        case .unix: .unixSocket(path: folder + "/socket")
        case .tls: .network(host: "127.0.0.1", port: port, device: try Bench.device())
        }
    }

    /// Bytes of memory that are the server's own: neither shared nor to be had again from a file.
    func memory() throws -> Int { try ProcessMemory.anonymous(of: program.pid) }

    func stop() {
        try? program.input.close()
        program.wait()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// How a query travels.
    enum Path: String, CaseIterable, Codable {
        case unix = "Unix socket"
        case tls = "TLS"
    }
}

/// What a process uses, by its /proc/PID/smaps_rollup (proc(5)).
enum ProcessMemory {
    static func anonymous(of pid: Int32) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("Anonymous:") }),
            let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { throw BenchmarkError("the kernel does not say how much memory process \(pid) uses") }
        return kibibytes * 1024
    }
}
