import Foundation
import Linux

/// A program of the system that a test or a benchmark runs and talks to.
///
/// Foundation's `Process` would do, but for a process with well over a thousand open files: `Process.run()` lists them,
/// reads beyond the end of the list and crashes (swift-corelibs-foundation of Swift 6.3). Tests that run side by side
/// have that many.
public final class PipedProgram: Sendable {
    public let pid: pid_t
    /// What is written here, the program reads as its standard input.
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
