#if canImport(Glibc)
    import CLinux
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Starts programs.
public enum ChildProcess {
    /// What a program is given as one of its three streams.
    public enum Stream: Sendable {
        case file(String, flags: Int32, mode: mode_t = 0o600)
        /// One that this process has open and keeps.
        case descriptor(Int32)

        public static let nothing = file("/dev/null", flags: O_RDWR)
    }

    /// Starts a program in a process group of its own, with no signal blocked, and with none of this process's open files
    /// but the three streams: a connection that a child inherits would stay open for as long as the child lives.
    ///
    /// It runs in the network namespace of the calling thread.
    /// - Parameters:
    ///   - path: a program; searched in `PATH` where it contains no slash.
    ///   - arguments: those after the program's name.
    ///   - environment: all of it, each `NAME=value`.
    ///   - errors: nil for the same as `output`.
    /// - Throws: the error number of `posix_spawnp(3)`.
    public static func start(
        _ path: String, _ arguments: [String], environment: [String], input: Stream = .nothing, output: Stream,
        errors: Stream? = nil
    ) throws(SpawnFailure) -> pid_t {
        #if os(Linux)
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #else
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #endif
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
        var flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP
        #if os(Linux)
            posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        #else
            flags |= POSIX_SPAWN_CLOEXEC_DEFAULT
        #endif
        posix_spawnattr_setflags(&attributes, Int16(flags))

        var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, path, &actions, &attributes, &argv, &envp)
        guard result == 0 else { throw SpawnFailure(errno: result) }
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

/// Why a program could not be started.
public struct SpawnFailure: Error, Equatable {
    public let errno: Int32
}
