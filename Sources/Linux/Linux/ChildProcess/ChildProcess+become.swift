#if os(Linux)
    import CLinux
    import Glibc

    extension ChildProcess {
        /// What a program may use at most (setrlimit(2)).
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

        /// What descendants of this process leave behind becomes its child, to be waited for, even where the first process
        /// of the machine or of the container would not do that.
        /// - Throws: the error number of `prctl(2)`.
        public static func adoptOrphans() throws(SpawnFailure) {
            guard spawn_adopt_orphans() == 0 else { throw SpawnFailure(errno: errno) }
        }

        /// Replaces this process by a program, which keeps the three streams and nothing else that is open, has no signal
        /// blocked or ignored, leaves no core dump, can gain no privileges, and stays in this process group, all that it
        /// starts with it: a signal to the group reaches everybody.
        /// - Parameters:
        ///   - path: of the program, not searched for.
        ///   - environment: all of it, each `NAME=value`.
        /// - Returns: only where the program cannot be started: the error number of `execve(2)`, `setrlimit(2)` or `prctl(2)`.
        public static func become(
            _ path: String, _ arguments: [String], environment: [String], limits: Limits
        ) -> SpawnFailure {
            guard limits.set() else { return SpawnFailure(errno: errno) }
            guard spawn_without_new_privileges() == 0, spawn_stay_in_process_group() == 0 else {
                return SpawnFailure(errno: errno)
            }
            for number in 1...64 where number != SIGKILL && number != SIGSTOP { signal(Int32(number), SIG_DFL) }
            var none = sigset_t()
            sigemptyset(&none)
            sigprocmask(SIG_SETMASK, &none, nil)
            // Closed by the kernel when the program starts, so that this process is whole where it does not.
            guard spawn_close_on_exec_from(3) == 0 else { return SpawnFailure(errno: errno) }
            var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
            var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
            defer { for text in argv + envp { free(text) } }
            execve(path, &argv, &envp)
            return SpawnFailure(errno: errno)
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
            // What is less already stays so.
            let value = min(rlim_t(value), limit.rlim_max)
            limit = rlimit(rlim_cur: value, rlim_max: value)
            return setrlimit(__rlimit_resource_t(resource.rawValue), &limit) == 0
        }
    }
#endif
