import AgentModel
import CLinux
import Glibc

/// Starts programs.
public enum ChildProcess {
    /// One of a program's three streams.
    public enum Stream: Sendable {
        case file(String, flags: Int32, mode: mode_t = 0o600)
        /// One that this process has open and keeps.
        case descriptor(Int32)

        public static let nothing = file("/dev/null", flags: O_RDWR)
    }

    /// Starts a program in a process group of its own, with no signal blocked, and with none of this process's open
    /// files but the three streams: a connection that a child inherits would stay open for as long as the child lives.
    ///
    /// It runs in the network namespace of the calling thread.
    /// - Parameters:
    ///   - path: a program; searched in `PATH` where it contains no slash.
    ///   - arguments: those after the program's name.
    ///   - environment: all of it, each `NAME=value`.
    ///   - errors: nil for the same as `output`.
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
        // Threads of a pool block signals, and a program would start with that: it could not be ended in order.
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

    /// Waits until a program has ended; only once, for then the kernel forgets it.
    /// - Returns: its exit status, or 128 and the number of the signal that ended it, as a shell says it.
    @discardableResult
    public static func wait(for pid: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return signal == 0 ? status >> 8 & 0xff : 128 + signal
    }

    /// The environment of this process, as ``start(_:_:environment:input:output:errors:)`` takes it.
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
    /// Limits of a program's resources (setrlimit(2)).
    public struct Limits: Sendable, Equatable {
        /// Of memory and of one file, in bytes.
        public var addressSpace: UInt
        public var fileSize: UInt
        /// Of computing, in seconds.
        public var processorTime: UInt
        /// Of processes that its user has.
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

    /// Orphaned descendants of this process become its children, to be waited for, even if the first process of the
    /// machine or of the container would not do that.
    /// - Throws: the failure of `prctl(2)`.
    public static func adoptOrphans() throws(SystemError) {
        guard spawn_adopt_orphans() == 0 else { throw SystemError("adopt what other processes leave behind") }
    }

    /// Replaces this process by a program, which keeps the three streams and nothing else that is open, has no signal
    /// blocked or ignored, leaves no core dump, can gain no privileges, and stays in this process group, all that it
    /// starts with it: a signal to the group reaches all of them.
    /// - Parameters:
    ///   - path: of the program, not searched for.
    ///   - environment: all of it, each `NAME=value`.
    /// - Returns: only where the program cannot be started: the failure of `execve(2)`, `setrlimit(2)` or `prctl(2)`.
    public static func become(
        _ path: String, _ arguments: [String], environment: [String], limits: Limits
    ) -> SystemError {
        guard limits.set() else { return SystemError("limit what \(path) may use") }
        guard spawn_without_new_privileges() == 0, spawn_stay_in_process_group() == 0 else {
            return SystemError("keep \(path) in its process group")
        }
        for number in 1...64 where number != SIGKILL && number != SIGSTOP { signal(Int32(number), SIG_DFL) }
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
        // Closed by the kernel when the program starts, so that this process is whole where it does not.
        guard spawn_close_on_exec_from(3) == 0 else { return SystemError("close what is open for \(path)") }
        var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        execve(path, &argv, &envp)
        return SystemError("start \(path)")
    }
}

extension ChildProcess.Limits {
    /// - Returns: false with `errno` where the kernel refuses one.
    fileprivate func set() -> Bool {
        Self.set(RLIMIT_AS, addressSpace) && Self.set(RLIMIT_FSIZE, fileSize) && Self.set(RLIMIT_CPU, processorTime)
            && Self.set(__RLIMIT_NPROC, processes) && Self.set(RLIMIT_NOFILE, openFiles)
            && Self.set(RLIMIT_CORE, 0)
    }

    private static func set(_ resource: __rlimit_resource, _ value: UInt) -> Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0 else { return false }
        // A limit that is lower already stays.
        let value = min(rlim_t(value), limit.rlim_max)
        limit = rlimit(rlim_cur: value, rlim_max: value)
        return setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
    }
}
