import FoundationEssentials
import Glibc

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
    /// - Returns: what waitpid(2) said.
    private static func spawn(_ arguments: [String]) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        var vector = arguments.map { strdup($0) } + [nil]
        defer { vector.forEach { free($0) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, arguments[0], &actions, nil, &vector, environ)
        guard code == 0 else {
            throw BenchmarkError("cannot run \(arguments[0]) (\(String(cString: strerror(code)))): install it")
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0 {
            guard errno == EINTR else { throw BenchmarkError("lost sight of \(arguments[0])") }
        }
        return status
    }
}
