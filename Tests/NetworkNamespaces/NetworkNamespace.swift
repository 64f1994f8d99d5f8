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
