import Dispatch
import Glibc
import Linux

/// A network namespace of the test's own, so that links and routes can be changed without harm.
@AgentLoop
public final class NetworkNamespace {
    private let descriptor: Int32

    /// Whether this process may make one.
    public nonisolated static let isAvailable: Bool = {
        let home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        defer { close(home) }
        guard home >= 0, unshareNetwork() else { return false }
        return enterNetwork(home)
    }()

    public init() {
        let home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        defer { close(home) }
        precondition(unshareNetwork(), "no new network namespace")
        descriptor = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        precondition(enterNetwork(home), "the way back is barred")
    }

    deinit { close(descriptor) }

    /// Does something in the namespace on the thread at hand; sockets that it makes stay there.
    public func within<Value>(_ body: () throws -> Value) rethrows -> Value {
        let home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)
        defer { close(home) }
        precondition(enterNetwork(descriptor), "cannot enter the namespace")
        defer { precondition(enterNetwork(home), "the way back is barred") }
        return try body()
    }

    public func run(_ script: String) async throws { try await Shell.run(entering(script)) }

    /// Runs a script while the loop stands still.
    public func runBlocking(_ script: String) throws { try Shell.runBlocking(entering(script)) }

    /// A name of the namespace for `ip link set ... netns`.
    public nonisolated var path: String { "/proc/\(getpid())/fd/\(descriptor)" }

    private func entering(_ script: String) -> String {
        "nsenter --net=\(path) /bin/sh -e <<'END'\n\(script)\nEND"
    }
}

// Functions of the C library that its Swift module leaves out, because they are Linux's own or take any number of
// arguments.

func unshareNetwork() -> Bool { call("unshare", networkNamespace) }

func enterNetwork(_ descriptor: Int32) -> Bool { call("setns", descriptor, networkNamespace) }

/// Changes the effective user of this thread only; the C library's own function changes all threads.
public func setThreadUser(_ user: uid_t) -> Bool {
    typealias Syscall = @convention(c) (Int, Int, Int, Int) -> Int
    #if arch(x86_64)
        let setresuid = 117
    #else
        let setresuid = 147
    #endif
    guard let function = dlsym(nil, "syscall") else { return false }
    return unsafeBitCast(function, to: Syscall.self)(setresuid, -1, Int(user), -1) == 0
}

/// Makes a tunnel in the namespace of the thread at hand, which lasts until the descriptor is closed; nil where that is
/// not allowed (tun.c, `TUNSETIFF` with `IFF_TUN` and `IFF_NO_PI`).
public func openTunnel(_ name: String) -> Int32? {
    typealias Control = @convention(c) (Int32, UInt, UnsafeMutableRawPointer) -> Int32
    let file = open("/dev/net/tun", O_RDWR | O_CLOEXEC)
    guard file >= 0, let function = dlsym(nil, "ioctl") else { return nil }
    // struct ifreq: the name, then the flags.
    var request = Array(name.utf8.prefix(15))
    request += Array(repeating: 0, count: 40 - request.count)
    request[16...17] = [0x01, 0x10]
    guard unsafeBitCast(function, to: Control.self)(file, 0x4004_54ca, &request) == 0 else {
        close(file)
        return nil
    }
    return file
}

/// `CLONE_NEWNET`.
private let networkNamespace: Int32 = 0x4000_0000

private func call(_ name: String, _ first: Int32, _ second: Int32 = 0) -> Bool {
    typealias Function = @convention(c) (Int32, Int32) -> Int32
    guard let function = dlsym(nil, name) else { return false }
    return unsafeBitCast(function, to: Function.self)(first, second) == 0
}

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
