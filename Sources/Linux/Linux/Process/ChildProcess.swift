import AgentModel
import CLinux
import Glibc

/// Starts programs and waits for them.
public enum ChildProcess {
    /// A standard stream of a program.
    public enum Stream: Sendable {
        case file(String, flags: Int32, mode: mode_t = 0o600)
        /// A descriptor of this process, which stays open.
        case descriptor(Int32)

        public static let nothing = file("/dev/null", flags: O_RDWR)
    }

    /// Starts a program in its own process group, with no blocked signals. It inherits only the three streams: an
    /// inherited connection would stay open as long as the child lives.
    ///
    /// The program runs in the network namespace of the calling thread.
    /// - Parameters:
    ///   - path: searched in `PATH` if it contains no slash.
    ///   - arguments: arguments after the program's name.
    ///   - environment: complete environment, each `NAME=value`.
    ///   - errors: nil for the same stream as `output`.
    /// - Throws: the failure of `posix_spawnp(3)`.
    public static func start(
        _ path: String, _ arguments: [String], environment: [String], input: Stream = .nothing, output: Stream,
        errors: Stream? = nil
    ) throws(SystemError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        func give(_ stream: Stream, as number: Int32) {
            switch stream {
            case .file(let path, let flags, let mode):
                posix_spawn_file_actions_addopen(&actions, number, path, flags, mode)
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            }
        }
        give(input, as: 0)
        give(output, as: 1)
        give(errors ?? .descriptor(1), as: 2)

        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of a pool block signals. Signals could not terminate a program that inherits this.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))

        var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, path, &actions, &attributes, &argv, &envp)
        guard result == 0 else { throw SystemError("start \(path)", errno: result) }
        return pid
    }

    /// Waits until a program has ended. Call this only once per process, because the kernel then forgets the process
    /// ID.
    /// - Returns: exit status, or 128 plus the number of the fatal signal, as in a shell.
    @discardableResult
    public static func wait(for pid: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return signal == 0 ? status >> 8 & 0xff : 128 + signal
    }

    public static var ownEnvironment: [String] {
        var variables: [String] = []
        var next = environ
        while let variable = next.pointee {
            variables.append(String(cString: variable))
            next += 1
        }
        return variables
    }
}

extension ChildProcess {
    /// Resource limits of a program (setrlimit(2)).
    public struct Limits: Sendable, Equatable {
        /// Maximum bytes of memory, and bytes of one file.
        public var addressSpace: UInt
        public var fileSize: UInt
        /// Processor time in seconds.
        public var processorTime: UInt
        /// Maximum number of the user's processes, and of open files of one process.
        public var processes: UInt
        public var openFiles: UInt

        public init(
            addressSpace: UInt, fileSize: UInt, processorTime: UInt, processes: UInt, openFiles: UInt
        ) {
            self.addressSpace = addressSpace
            self.fileSize = fileSize
            self.processorTime = processorTime
            self.processes = processes
            self.openFiles = openFiles
        }
    }

    /// Makes orphaned descendants children of this process, so that it can wait for them.
    /// - Throws: the failure of `prctl(2)`.
    public static func adoptOrphans() throws(SystemError) {
        guard spawn_adopt_orphans() == 0 else { throw SystemError("adopt orphaned processes") }
    }

    /// Replaces this process by a program that inherits only the three streams. Signals are neither blocked nor
    /// ignored; core dumps and new privileges are disabled. The program and its children stay in this process group: a
    /// signal to the group reaches all of them.
    /// - Parameters:
    ///   - path: path of the program, without a search.
    ///   - environment: complete environment, each `NAME=value`.
    /// - Returns: the failure of `execve(2)`, `setrlimit(2)` or `prctl(2)`, if the program cannot be started.
    public static func become(
        _ path: String, _ arguments: [String], environment: [String], limits: Limits
    ) -> SystemError {
        guard limits.set() else { return SystemError("limit the resources of \(path)") }
        guard spawn_without_new_privileges() == 0, spawn_stay_in_process_group() == 0 else {
            return SystemError("keep \(path) in its process group")
        }
        for number in 1...64 where number != SIGKILL && number != SIGSTOP { signal(Int32(number), SIG_DFL) }
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
        // Close-on-exec keeps the descriptors of this process if the program cannot start.
        guard spawn_close_on_exec_from(3) == 0 else { return SystemError("close the open files of \(path)") }
        var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        execve(path, &argv, &envp)
        return SystemError("start \(path)")
    }
}

extension ChildProcess.Limits {
    /// - Returns: false with `errno` if the kernel refuses a limit.
    fileprivate func set() -> Bool {
        Self.set(RLIMIT_AS, addressSpace) && Self.set(RLIMIT_FSIZE, fileSize) && Self.set(RLIMIT_CPU, processorTime)
            && Self.set(__RLIMIT_NPROC, processes) && Self.set(RLIMIT_NOFILE, openFiles)
            && Self.set(RLIMIT_CORE, 0)
    }

    private static func set(_ resource: __rlimit_resource, _ value: UInt) -> Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return false }
        // Keeps a hard limit that is lower.
        let value = min(rlim_t(value), limit.rlim_max)
        limit = rlimit(rlim_cur: value, rlim_max: value)
        return setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
    }
}
