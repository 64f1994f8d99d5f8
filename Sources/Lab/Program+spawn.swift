import Glibc

extension Program {
    private static let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]

    /// The path of a system program; a path stays as it is.
    static func locate(_ name: String) throws(LabError) -> String {
        let paths: [String] = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
        guard let path = paths.first(where: { access($0, X_OK) == 0 }) else { throw .missing(program: name) }
        return path
    }

    /// Starts a program in a process group of its own, with nothing of the lab's but the network namespace.
    static func spawn(
        _ path: String, _ arguments: [String], environment: [String: String], input: String, log: String
    ) throws(LabError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)

        // Threads of a pool block signals, and a program would start with that: it could not be ended in order.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))

        let defaults = ["PATH": folders.joined(separator: ":"), "LANG": "C.UTF-8"]
        let variables = defaults.merging(environment) { $1 }.map { "\($0.key)=\($0.value)" }
        var argv: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, path, &actions, &attributes, &argv, &envp)
        guard result == 0 else { throw .system(attempt: "start \(path)", errno: result) }
        return pid
    }
}
