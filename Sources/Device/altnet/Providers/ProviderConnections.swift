import Glibc
import Linux

/// Connections to the host of the providers. Each connection has a process that becomes the provider. The provider's
/// child processes stay in its process group, so that one signal ends all of them.
struct ProviderConnections {
    /// User of the providers; nil for this process's user.
    let user: SystemUser?
    private let directory: String
    private var processes: [Int32: pid_t] = [:]
    /// Connections whose process was killed and has not ended yet.
    private var ending: Set<Int32> = []

    init(directory: String, user: SystemUser?) {
        self.directory = directory
        self.user = user
    }

    var count: Int { processes.count }

    /// Descriptors to watch for the end of the peer. The provider reads their bytes.
    var waiting: [Int32] { processes.keys.filter { !ending.contains($0) } }

    /// Starts a provider for the connection and takes ownership of the descriptor.
    mutating func begin(_ descriptor: Int32) {
        let user = user.map { ["--user", $0.name] } ?? []
        do {
            processes[descriptor] = try ChildProcess.start(
                "/proc/self/exe", ["providers", "--connection", "--directory", directory] + user, environment: [],
                input: .descriptor(descriptor), output: .descriptor(descriptor), errors: .descriptor(2))
        } catch {
            close(descriptor)
        }
    }

    /// Kills the providers of closed connections.
    mutating func end(_ descriptors: [Int32]) {
        for descriptor in descriptors {
            guard let process = processes[descriptor], ending.insert(descriptor).inserted else { continue }
            kill(-process, SIGKILL)
        }
    }

    /// Closes connections of ended providers and kills their remaining processes.
    mutating func reap() {
        while let ended = Self.ended() {
            if let descriptor = processes.first(where: { $0.value == ended })?.key {
                // The process number and group stay reserved until `wait`.
                kill(-ended, SIGKILL)
                close(descriptor)
                processes[descriptor] = nil
                ending.remove(descriptor)
            }
            ChildProcess.wait(for: ended)
        }
    }

    mutating func endAll() {
        end(Array(processes.keys))
        for process in processes.values { ChildProcess.wait(for: process) }
        processes = [:]
    }

    /// Returns an ended process before `wait` releases it: the process of a connection, or an orphan of a provider; nil
    /// if there is none.
    private static func ended() -> pid_t? {
        var information = siginfo_t()
        guard waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0 else { return nil }
        let process = information._sifields._sigchld.si_pid
        return process == 0 ? nil : process
    }
}
