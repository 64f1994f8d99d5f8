import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A person's program that turns access points on and off: `PROGRAM list`, `PROGRAM on NAME`, `PROGRAM off NAME`.
///
/// It finds the networks, passwords included, in the file that `ALTNET_NETWORKS` in its environment names: never in its
/// arguments, which everybody on the machine can read.
public struct HookProgram: AccessPointSwitch {
    private let path: String
    private let networksFile: String?

    public init(path: String, networksFile: String?) {
        self.path = path
        self.networksFile = networksFile
    }

    /// One name a line.
    public func names() async throws -> [String] {
        try await run(["list"]).split(separator: "\n").map(String.init)
    }

    public func turn(_ name: String, on isOn: Bool) async throws { _ = try await run([isOn ? "on" : "off", name]) }

    /// - Returns: what it wrote on its standard output, of which a harness needs no more than a few lines.
    private func run(_ arguments: [String]) async throws -> String {
        // It blocks a thread of a pool for that, not one of those that run tasks.
        try await NIOThreadPool.singleton.runIfActive { try Self.run(path, arguments, networksFile) }
    }

    private static func run(_ path: String, _ arguments: [String], _ networksFile: String?) throws -> String {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw HookFailure.system(path, errno: errno) }
        // Programs that are started at the same time shall not hold the pipe open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let pid: pid_t
        do {
            defer { close(ends[1]) }
            pid = try spawn(path, arguments, networksFile, output: ends[1])
        }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(ends[0], &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            if text.count < 65_536 { text += buffer[..<count] }
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw HookFailure.ended(path, arguments, status: status) }
        return String(decoding: text, as: UTF8.self)
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ networksFile: String?, output: Int32
    ) throws(HookFailure) -> pid_t {
        #if os(Linux)
            var actions = posix_spawn_file_actions_t()
        #else
            var actions: posix_spawn_file_actions_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        var variables: [String] = []
        var next = environ
        while let variable = next.pointee {
            variables.append(String(cString: variable))
            next += 1
        }
        if let networksFile { variables.append("ALTNET_NETWORKS=\(networksFile)") }
        var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid: pid_t = 0
        let result = posix_spawnp(&pid, path, &actions, nil, &argv, &envp)
        guard result == 0 else { throw .system(path, errno: result) }
        return pid
    }
}

/// Why a hook did not do what it was asked for.
public enum HookFailure: Error, Equatable, CustomStringConvertible {
    case system(String, errno: Int32)
    case ended(String, [String], status: Int32)

    public var description: String {
        switch self {
        case .system(let path, let errno): "\(path) could not be run: \(String(cString: strerror(errno)))"
        case .ended(let path, let arguments, let status):
            "\(path) \(arguments.joined(separator: " ")) failed with the status \(status >> 8 & 0xff)"
        }
    }
}
