import FoundationEssentials
import Glibc
import Linux

/// Runs this program again, under strace(1).
enum Strace {
    /// - Parameter directory: where the trace is kept, outside of what is traced.
    /// - Returns: the trace.
    static func run(_ arguments: [String], tracesIn directory: String) throws -> String {
        let output = directory + "/trace"
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let status = try spawn(
            [
                "strace", "-f", "-y", "-qq", "-o", output, "-e", Trace.filter,
                // Heap by the page and no more, and nothing of it put by for later: so its growth is what was needed.
                "-E", "GLIBC_TUNABLES=glibc.malloc.top_pad=0:glibc.malloc.tcache_count=0",
                program,
            ] + arguments)
        guard status == 0 else {
            throw BenchmarkError(
                "\(arguments[0]) under strace ended with status \(status): may it trace here (ptrace(2))?")
        }
        defer { try? FileManager.default.removeItem(atPath: output) }
        return try String(contentsOfFile: output, encoding: .utf8)
    }

    /// Runs a program to its end, with its standard output thrown away.
    /// - Returns: its exit status.
    private static func spawn(_ arguments: [String]) throws -> Int32 {
        do {
            let pid = try ChildProcess.start(
                arguments[0], Array(arguments.dropFirst()), environment: ChildProcess.ownEnvironment, output: .nothing,
                errors: .descriptor(2))
            return ChildProcess.wait(for: pid)
        } catch {
            throw BenchmarkError("cannot run \(arguments[0]) (\(String(cString: strerror(error.errno)))): install it")
        }
    }
}
