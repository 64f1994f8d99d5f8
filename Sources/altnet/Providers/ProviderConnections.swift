import ChildProcess
import Glibc

/// The connections to the host, each with the process that serves it, in a process group of its own.
struct ProviderConnections {
    private let directory: String
    private var processes: [Int32: pid_t] = [:]
    /// Connections whose process is being ended.
    private var ending: Set<Int32> = []

    init(directory: String) { self.directory = directory }

    var count: Int { processes.count }

    /// What to wait for: that the other side ends. What it writes is for the provider.
    var waiting: [pollfd] {
        processes.keys.filter { !ending.contains($0) }.map { pollfd(fd: $0, events: Self.hangUp, revents: 0) }
    }

    /// POLLRDHUP (poll(2)), which the C library hides.
    private static let hangUp: Int16 = 0x2000

    /// Takes the connection over.
    mutating func begin(_ descriptor: Int32) {
        do {
            processes[descriptor] = try ChildProcess.start(
                "/proc/self/exe", ["providers", "--directory", directory], environment: [],
                input: .descriptor(descriptor), output: .descriptor(descriptor), errors: .descriptor(2))
        } catch {
            close(descriptor)
        }
    }

    /// Nobody is there any more to whom these providers could answer.
    mutating func end(_ descriptors: [Int32]) {
        for descriptor in descriptors {
            guard let process = processes[descriptor], ending.insert(descriptor).inserted else { continue }
            kill(-process, SIGKILL)
        }
    }

    /// Ends the connections whose provider has ended, with all that it has left running.
    mutating func reap() {
        for (descriptor, process) in processes {
            var information = siginfo_t()
            // The process's number stays its own, and that of its group, until it has been waited for.
            guard waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0,
                information.si_signo == SIGCHLD
            else { continue }
            kill(-process, SIGKILL)
            waitpid(process, nil, 0)
            close(descriptor)
            processes[descriptor] = nil
            ending.remove(descriptor)
        }
    }

    mutating func endAll() {
        end(Array(processes.keys))
        for process in processes.values { waitpid(process, nil, 0) }
        processes = [:]
    }
}
