import AgentModel
import Glibc
import Linux
import NIOPosix

/// A user's program that turns access points on and off: `PROGRAM list`, `PROGRAM on NAME`, `PROGRAM off NAME`.
///
/// The environment variable `ALTNET_NETWORKS` names the file with networks and passwords. Passwords are not arguments,
/// because all users of the machine can read arguments.
public struct HookProgram: AccessPointSwitch {
    private let path: String
    private let networksFile: String?
    private let limit: Duration

    /// - Parameter limit: time limit for each call. After it, the program's process group is killed.
    public init(path: String, networksFile: String?, limit: Duration = .seconds(60)) {
        self.path = path
        self.networksFile = networksFile
        self.limit = limit
    }

    public func names() async throws -> [String] {
        try await run(["list"]).split(separator: "\n").map(String.init)
    }

    public func turn(_ name: String, on isOn: Bool) async throws { _ = try await run([isOn ? "on" : "off", name]) }

    /// - Returns: standard output; the rest of a long output is dropped.
    private func run(_ arguments: [String]) async throws -> String {
        // Block a thread of this pool, not one that runs tasks.
        try await NIOThreadPool.singleton.runIfActive { try runToItsEnd(arguments) }
    }

    private func runToItsEnd(_ arguments: [String]) throws(HookFailure) -> String {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .system(path, SystemError("make a pipe")) }
        defer { close(ends[0]) }
        let pid: pid_t
        do {
            defer { close(ends[1]) }
            pid = try spawn(arguments, output: ends[1])
        }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let deadline = ContinuousClock.now + limit
        var text: [UInt8] = []
        var status: Int32 = 0
        while true {
            // Check for the end before reading, so that the last output is read. A background process may keep the pipe
            // open.
            let hasEnded = waitpid(pid, &status, WNOHANG) == pid
            Self.drain(from: ends[0], into: &text)
            if hasEnded { break }
            guard .now < deadline else {
                kill(-pid, SIGKILL)
                ChildProcess.wait(for: pid)
                throw .tookTooLong(path, arguments, limit)
            }
            usleep(5000)
        }
        guard status == 0 else { throw .ended(path, arguments, status: status) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func drain(from pipe: Int32, into text: inout [UInt8]) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        // Read at most the content of a full pipe, in case the program writes without end.
        for _ in 0..<16 {
            let count = read(pipe, &buffer, buffer.count)
            guard count > 0 else { return }
            if text.count < 65_536 { text += buffer[..<count] }
        }
    }

    /// Starts the program in a separate process group, so that Control-C does not stop it. The harness needs the
    /// program to clean up.
    private func spawn(_ arguments: [String], output: Int32) throws(HookFailure) -> pid_t {
        let networks = networksFile.map { ["ALTNET_NETWORKS=\($0)"] } ?? []
        do {
            return try ChildProcess.start(
                path, arguments, environment: ChildProcess.ownEnvironment + networks, output: .descriptor(output),
                errors: .descriptor(2))
        } catch {
            throw .system(path, error)
        }
    }
}

public enum HookFailure: Error, Equatable, CustomStringConvertible {
    case system(String, SystemError)
    /// - status: exit status from `waitpid`.
    case ended(String, [String], status: Int32)
    case tookTooLong(String, [String], Duration)

    public var description: String {
        switch self {
        case .system(let path, let error): "cannot run \(path): \(error)"
        case .ended(let path, let arguments, let status):
            "\(path) \(arguments.joined(separator: " ")) "
                + (status & 0x7f == 0
                    ? "failed with status \(status >> 8 & 0xff)" : "was ended by signal \(status & 0x7f)")
        case .tookTooLong(let path, let arguments, let limit):
            "\(path) \(arguments.joined(separator: " ")) did not end within \(limit)"
        }
    }
}
