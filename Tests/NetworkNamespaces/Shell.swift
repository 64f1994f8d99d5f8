import Dispatch
import Glibc

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
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, fileno(output), 1)
        posix_spawn_file_actions_adddup2(&actions, fileno(output), 2)
        let words = ["timeout", "30", "/bin/sh", "-ec", script]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        arguments.append(nil)
        defer { arguments.forEach { free($0) } }
        var process = pid_t()
        let error = posix_spawnp(&process, "timeout", &actions, nil, &arguments, environ)
        guard error == 0 else { return (error, "cannot start timeout") }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        rewind(output)
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = fread(&buffer, 1, buffer.count, output)
        return (status, String(decoding: buffer[..<count], as: UTF8.self))
    }
}
