import Glibc
import Linux

/// The connections to the host, each with the process that serves it and becomes the provider. The children of a
/// provider are in the process group of its connection, which they cannot leave, so that one signal ends them all.
struct ProviderConnections {
    /// The user of the providers; nil for this process's user.
    let user: Account?
    private let directory: String
    private var processes: [Int32: pid_t] = [:]
    /// Connections whose process is being ended.
    private var ending: Set<Int32> = []

    init(directory: String, user: Account?) {
        self.directory = directory
        self.user = user
    }

    var count: Int { processes.count }

    /// Waits for the end of the other side. Its bytes are for the provider.
    var waiting: [Int32] { processes.keys.filter { !ending.contains($0) } }

    /// Takes the connection over.
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

    /// Ends the providers of these connections, whose other side has gone.
    mutating func end(_ descriptors: [Int32]) {
        for descriptor in descriptors {
            guard let process = processes[descriptor], ending.insert(descriptor).inserted else { continue }
            kill(-process, SIGKILL)
        }
    }

    /// Ends the connections whose provider has ended, with all that it has left running.
    mutating func reap() {
        while let ended = Self.ended() {
            if let descriptor = processes.first(where: { $0.value == ended })?.key {
                // The process's number stays its own, and that of its group, until it has been waited for.
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

    /// A process that has ended and was not waited for: a connection's, or one that a provider has left behind.
    private static func ended() -> pid_t? {
        var information = siginfo_t()
        guard waitid(P_ALL, 0, &information, WEXITED | WNOHANG | WNOWAIT) == 0 else { return nil }
        let process = information._sifields._sigchld.si_pid
        return process == 0 ? nil : process
    }
}
