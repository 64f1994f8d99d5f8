import FoundationEssentials
import Glibc
import Linux
import Synchronization

/// A program that the lab starts and ends. Its child processes (its process group) end with it.
public final class Program: Sendable {
    public let name: String
    public let pid: Int32
    public let log: String
    /// Status from `waitpid`; nil while the program runs.
    private let ending = Mutex<Int32?>(nil)

    /// Starts a program in the network namespace of the calling thread, and appends its output to `log`.
    /// - Parameter input: file for standard input.
    init(
        _ path: String, _ arguments: [String], environment: [String: String] = [:], input: String = "/dev/null",
        log: String
    ) throws(LabError) {
        let path = try Self.locate(path)
        name = path.split(separator: "/").last.map(String.init) ?? path
        self.log = log
        pid = try Self.spawn(path, arguments, environment: environment, input: input, log: log)
        mkdir(Lab.root, 0o755)
        try Lab.write("\(pid) \(name)\n", to: Self.list, O_APPEND)
    }

    static func run(_ path: String, _ arguments: [String], log: String) throws(LabError) {
        let program = try Program(path, arguments, log: log)
        let status = program.waitForEnd()
        guard status == 0 else { throw .failed(program: program.name, status: status, said: program.lastLines) }
    }

    public var isRunning: Bool {
        ending.withLock { ending in
            if ending != nil { return false }
            var status: Int32 = 0
            if waitpid(pid, &status, WNOHANG) != 0 { ending = status }
            return ending == nil
        }
    }

    /// Exit status, or 128 plus the number of the signal that ended the program; nil while it runs.
    public var exitStatus: Int32? { isRunning ? nil : waitForEnd() }

    /// Process IDs of the program's group, including helpers.
    public var processes: [Int32] {
        let all = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
        return all.filter { getpgid($0) == pid }.sorted()
    }

    /// Kills the program (SIGKILL), like a power cut or a crash.
    public func kill() {
        // Kill the group, because helpers outlive their parent (dhcpcd's helper has root's rights).
        _ = Glibc.kill(-pid, SIGKILL)
        _ = waitForEnd()
    }

    /// Stops all processes of the program (SIGSTOP).
    public func freeze() { _ = Glibc.kill(-pid, SIGSTOP) }

    /// Resumes all processes of the program (SIGCONT).
    public func thaw() { _ = Glibc.kill(-pid, SIGCONT) }

    /// Ends the program with SIGTERM, and with SIGKILL after 2 s.
    public func terminate() async {
        if isRunning { _ = Glibc.kill(pid, SIGTERM) }
        let deadline = ContinuousClock.now + .seconds(2)
        while isRunning, ContinuousClock.now < deadline, !Task.isCancelled {
            try? await Task.sleep(for: .milliseconds(5))
        }
        kill()
    }

    /// Resident memory in KiB (VmRSS in proc(5)); nil after the program's end.
    public var residentMemory: Int? { memory("VmRSS:") }

    /// Anonymous memory in KiB (RssAnon in proc(5)), the memory that the program costs on a board; nil after its end.
    public var anonymousMemory: Int? { memory("RssAnon:") }

    /// Processor time, user and system (proc(5)); nil after the program's end.
    public var processorTime: Duration? {
        guard isRunning, let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            // The name in brackets can contain anything, so split after the last bracket. utime and stime are the 12th
            // and 13th field from there.
            let fields = text.lastIndex(of: ")").map({ text[text.index(after: $0)...].split(separator: " ") }),
            fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12])
        else { return nil }
        return .milliseconds((user + system) * 1000 / sysconf(Int32(_SC_CLK_TCK)))
    }

    private func memory(_ name: String) -> Int? {
        guard isRunning, let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) })
        else { return nil }
        return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }
    }

    public var lastLines: String {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(4).joined(separator: "; ")
    }

    /// Waits for the program's end. Returns the exit status, or 128 plus the number of the signal that ended it.
    func waitForEnd() -> Int32 {
        ending.withLock { ending in
            var status = ending ?? 0
            while ending == nil {
                let result = waitpid(pid, &status, 0)
                if result == pid || errno != EINTR { ending = status }
            }
            return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + (status & 0x7f)
        }
    }

    // MARK: Programs of a crashed lab

    private static let list = "\(Lab.root)/programs"

    /// Ends programs that an earlier lab left running.
    static func endLeftovers() {
        let lines = ((try? String(contentsOfFile: list, encoding: .utf8)) ?? "").split(separator: "\n")
        for words in lines.map({ $0.split(separator: " ", maxSplits: 1) }) where words.count == 2 {
            // Kill the process only if it has the recorded name, because another program may have this ID now. The
            // kernel keeps 15 characters of a name.
            guard let pid = Int32(words[0]),
                let name = try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8),
                name.trimmingLine == words[1].prefix(15)
            else { continue }
            _ = Glibc.kill(-pid, SIGKILL)
        }
        unlink(list)
    }
}

extension Program {
    private static let folders = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]

    /// Returns the path of a system program. An argument with a slash is returned unchanged.
    static func locate(_ name: String) throws(LabError) -> String {
        let paths: [String] = name.contains("/") ? [name] : folders.map { "\($0)/\(name)" }
        guard let path = paths.first(where: { access($0, X_OK) == 0 }) else { throw .missing(program: name) }
        return path
    }

    /// Starts a program in a new process group. The program inherits only the network namespace.
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

/// The C library's memory settings on boards, from the package's unit in the sources of this build.
enum UnitEnvironment {
    /// Memory settings. The unit is read only once, because a scenario's time continues while reading.
    static let memory: [String: String] = {
        let unit = (try? String(contentsOfFile: Lab.checkout + "/board/systemd/altnet.service", encoding: .utf8)) ?? ""
        return memory(in: unit)
    }()

    /// - Parameter unit: content of a unit file (systemd.unit(5)).
    static func memory(in unit: String) -> [String: String] {
        let lines = unit.split(separator: "\n").filter { $0.hasPrefix("Environment=") }
        let variables = lines.flatMap { $0.dropFirst("Environment=".count).split(separator: " ") }.compactMap {
            variable -> (String, String)? in
            guard let equals = variable.firstIndex(of: "="), isOfMemory(variable[..<equals]) else { return nil }
            return (String(variable[..<equals]), String(variable[variable.index(after: equals)...]))
        }
        return Dictionary(variables) { $1 }
    }

    private static func isOfMemory(_ name: Substring) -> Bool { name.hasPrefix("MALLOC_") || name == "GLIBC_TUNABLES" }
}
