import Glibc
import Linux

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
        let defaults = ["PATH": folders.joined(separator: ":"), "LANG": "C.UTF-8"]
        let variables = defaults.merging(environment) { $1 }.map { "\($0.key)=\($0.value)" }
        do {
            return try ChildProcess.start(
                path, arguments, environment: variables, input: .file(input, flags: O_RDONLY),
                output: .file(log, flags: O_WRONLY | O_CREAT | O_APPEND))
        } catch {
            throw .system(error)
        }
    }
}
