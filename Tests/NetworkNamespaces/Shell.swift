import Dispatch
import Glibc
import Linux

/// Runs the system's own tools, for setting up what the kernel is then asked about.
public enum Shell {
    public struct Failure: Error {
        let script: String
        let status: Int32
        let output: String
    }

    /// Runs a script, off the loop, and waits until its shell has ended; daemons that it started go on.
    public static func run(_ script: String) async throws {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try runBlocking(script) }) }
        }
    }

    public static func runBlocking(_ script: String) throws {
        let (status, output) = spawn(script)
        guard status == 0 else { throw Failure(script: script, status: status, output: output) }
    }

    private static func spawn(_ script: String) -> (status: Int32, output: String) {
        guard let output = tmpfile() else { return (errno, "cannot make a temporary file") }
        defer { fclose(output) }
        let process: pid_t
        do {
            process = try ChildProcess.start(
                "timeout", ["30", "/bin/sh", "-ec", script], environment: ChildProcess.ownEnvironment,
                output: .descriptor(fileno(output)))
        } catch {
            return (error.errno, "cannot start timeout")
        }
        let status = ChildProcess.wait(for: process)
        rewind(output)
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = fread(&buffer, 1, buffer.count, output)
        return (status, String(decoding: buffer[..<count], as: UTF8.self))
    }
}
