import Foundation
import Linux

/// A program of the system that a test or a benchmark runs and talks to.
///
/// Foundation's `Process` would do, but for a process with well over a thousand open files: `Process.run()` lists them,
/// reads beyond the end of the list and crashes (swift-corelibs-foundation of Swift 6.3). Tests that run side by side
/// have that many.
public final class PipedProgram: Sendable {
    public let pid: pid_t
    /// The program's standard input.
    public let input: FileHandle
    public let output: FileHandle

    /// - Parameters:
    ///   - path: a program; searched in `PATH` where it contains no slash.
    ///   - errors: nil for the same as its output.
    /// - Throws: `SpawnFailure`.
    public init(
        _ path: String, _ arguments: [String], environment: [String] = ChildProcess.ownEnvironment,
        errors: ChildProcess.Stream? = .nothing
    ) throws {
        // A program that leaves without having read all that it is told is no reason to end.
        signal(SIGPIPE, SIG_IGN)
        let (input, output) = (Pipe(), Pipe())
        pid = try ChildProcess.start(
            path, arguments, environment: environment,
            input: .descriptor(input.fileHandleForReading.fileDescriptor),
            output: .descriptor(output.fileHandleForWriting.fileDescriptor), errors: errors)
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
        (self.input, self.output) = (input.fileHandleForWriting, output.fileHandleForReading)
    }

    /// - Returns: nil for a program that is not installed.
    public static func path(of program: String) -> String? {
        ["/usr/bin/", "/bin/", "/usr/local/bin/", "/usr/sbin/"].map { $0 + program }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    public func end(_ signal: Int32 = SIGTERM) { kill(pid, signal) }

    /// Waits until it has ended; to be called once.
    /// - Returns: its exit status, or 128 and the signal that ended it, as in a shell.
    @discardableResult
    public func wait() -> Int32 { ChildProcess.wait(for: pid) }

    /// Gives it all its input, and waits for its end.
    /// - Parameter input: at most what a pipe holds (64 KiB).
    public static func run(
        _ path: String, _ arguments: [String], input: Data = Data(), errors: ChildProcess.Stream? = .nothing
    ) throws -> (status: Int32, output: Data) {
        let program = try PipedProgram(path, arguments, errors: errors)
        // It may have ended without reading.
        try? program.input.write(contentsOf: input)
        try program.input.close()
        let output = try program.output.readToEnd() ?? Data()
        return (program.wait(), output)
    }
}

/// The service manager's end of the socket on which it is told how a program goes (sd_notify(3)).
public final class NotifySocket {
    private let descriptor: Int32

    /// - Parameter name: a path, or a name that begins with `@` for an abstract socket, as in `$NOTIFY_SOCKET`.
    public init(_ name: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count + (name.hasPrefix("@") ? 0 : 1))
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// The next message; empty if none comes for a minute.
    public func next() -> String {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
