import ArgumentParser
import CSQLite
import FoundationEssentials
import Glibc
import Linux

/// The system calls between two marks of a traced process. No contestant counts for itself.
struct TracedStep {
    /// Bytes handed to write(2) and its kin, for files in the directory.
    var written = 0
    /// fsync(2), fdatasync(2) and their kin, for files in the directory and for itself.
    var syncs = 0
    /// See `Mark.diskBytes`.
    var diskBytes = 0
    /// By how many bytes the process's memory grew at most since the first mark: the heap, which the kernel gives out
    /// page by page, and mappings of any kind. Free memory of the heap at the first mark counts as if it had all been
    /// used.
    var peakMemory = 0
}

/// Reads a trace: the steps between its marks.
struct Trace {
    private(set) var steps: [TracedStep] = []

    private static let writes: Set<Substring> = ["write", "pwrite64", "writev", "pwritev", "pwritev2"]
    private static let syncs: Set<Substring> = ["fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync"]
    private static let memory: Set<Substring> = ["brk", "mmap", "mmap2", "munmap", "mremap"]

    /// The system calls that strace has to write down, as its option `-e`; a call that the machine does not have is
    /// none to miss.
    static var filter: String {
        "trace=" + writes.union(syncs).union(memory).sorted().map { "?" + $0 }.joined(separator: ",")
    }

    /// - Parameter directory: the real path of where the store is.
    init(_ text: String, directory: String) throws {
        var memory = AddressSpace()
        var before: Int?
        var last: Mark?
        var step = TracedStep()
        for line in text.split(separator: "\n") {
            guard let call = try TracedCall(line) else { continue }
            memory.observe(call)
            if let mark = call.mark {
                let start = before ?? memory.size - mark.freeHeap
                if let last {
                    step.diskBytes = mark.diskBytes - last.diskBytes
                    step.peakMemory = memory.peak - start
                    steps.append(step)
                }
                before = start
                last = mark
                memory.peak = memory.size
                step = TracedStep()
            } else if Self.writes.contains(call.name), let path = call.path, path.hasPrefix(directory) {
                step.written += call.result ?? 0
            } else if Self.syncs.contains(call.name), call.path?.hasPrefix(directory) ?? true {
                step.syncs += 1
            }
        }
    }
}

/// The memory that a traced process has asked for.
private struct AddressSpace {
    private var heapStart: Int?
    private var heapEnd = 0
    /// By its first address.
    private var mappings: [Int: Int] = [:]
    var peak = 0

    var size: Int { heapEnd - (heapStart ?? 0) + mappings.values.reduce(0, +) }

    mutating func observe(_ call: TracedCall) {
        guard let result = call.result else { return }
        switch call.name {
        case "brk":
            heapStart = heapStart ?? result
            heapEnd = result
        case "mmap", "mmap2": mappings[result] = call.number(1)
        case "munmap": if let start = call.number(0) { mappings[start] = nil }
        case "mremap":
            if let start = call.number(0) { mappings[start] = nil }
            mappings[result] = call.number(2)
        default: return
        }
        peak = max(peak, size)
    }
}

/// One line of what strace(1) writes with `-f -y`: `1234 pwrite64(5</the/path>, "..."..., 160, 0) = 160`.
struct TracedCall {
    let name: Substring
    private let arguments: Substring
    private let returned: Substring

    /// - Returns: nil if the line tells of something else, such as the end of the process.
    /// - Throws: if the line has only half of a call, for then something would not be counted.
    init?(_ line: Substring) throws {
        guard !line.contains("<unfinished ...>") else {
            throw BenchmarkError("more than one thread was traced: \(line)")
        }
        guard let bracket = line.firstIndex(of: "("), let equals = line.lastIndex(of: "="),
            let space = line[..<bracket].lastIndex(of: " ")
        else { return nil }
        name = line[line.index(after: space)..<bracket]
        arguments = line[bracket..<equals].dropFirst()
        returned = line[equals...].dropFirst(2).prefix { $0 != " " && $0 != "<" }
    }

    /// The call's return value, or nil if it failed.
    var result: Int? {
        guard let number = Self.number(returned), number >= 0 else { return nil }
        return number
    }

    /// The path of the first argument, if that is a descriptor.
    var path: Substring? {
        guard let start = arguments.firstIndex(of: "<"), let end = arguments[start...].firstIndex(of: ">"),
            arguments[..<start].allSatisfy(\.isNumber)
        else { return nil }
        return arguments[arguments.index(after: start)..<end]
    }

    /// An argument that is a number. For calls that have no text among their arguments.
    func number(_ index: Int) -> Int? {
        let parts = arguments.split(separator: ",")
        return parts.indices.contains(index) ? Self.number(parts[index].drop { $0 == " " }) : nil
    }

    /// The mark that the process has written into the trace.
    var mark: Mark? {
        guard name == "write", arguments.hasPrefix("1<"), let start = arguments.firstIndex(of: "\"") else { return nil }
        return Mark(arguments[arguments.index(after: start)...].prefix { $0 != "\\" && $0 != "\"" })
    }

    private static func number(_ text: Substring) -> Int? {
        text.hasPrefix("0x") ? Int(text.dropFirst(2), radix: 16) : Int(text)
    }
}

/// Runs this program again, under strace(1).
enum Strace {
    /// - Parameter directory: where the trace is kept, outside of what is traced.
    /// - Returns: the trace.
    static func run(_ arguments: [String], tracesIn directory: String) throws -> String {
        let output = directory + "/trace"
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let status = try spawn(
            [
                "strace", "-f", "-y", "-qq", "-o", output, "-e", Trace.filter,
                // Heap by the page and no more, and nothing of it put by for later: so its growth is what was needed.
                "-E", "GLIBC_TUNABLES=glibc.malloc.top_pad=0:glibc.malloc.tcache_count=0",
                program,
            ] + arguments)
        guard status == 0 else {
            throw BenchmarkError(
                "\(arguments[0]) under strace ended with status \(status): may it trace here (ptrace(2))?")
        }
        defer { try? FileManager.default.removeItem(atPath: output) }
        return try String(contentsOfFile: output, encoding: .utf8)
    }

    /// Runs a program to its end, with its standard output thrown away.
    /// - Returns: its exit status.
    private static func spawn(_ arguments: [String]) throws -> Int32 {
        do {
            let pid = try ChildProcess.start(
                arguments[0], Array(arguments.dropFirst()), environment: ChildProcess.ownEnvironment, output: .nothing,
                errors: .descriptor(2))
            return ChildProcess.wait(for: pid)
        } catch {
            throw BenchmarkError("cannot run \(arguments[0]) (\(String(cString: strerror(error.errno)))): install it")
        }
    }
}

/// A traced process writes this to its standard output, so that the trace shows where a step begins and ends. With it
/// go two figures that only the process itself can read.
struct Mark {
    /// Bytes that the kernel will send to the disk for what the process did so far (`write_bytes` in proc(5)): whole
    /// pages, also of what is written through mapped memory. Without the file system's own notes.
    let diskBytes: Int
    /// Bytes of the heap that are free and could be handed out without asking the kernel for more.
    let freeHeap: Int

    /// Reads the figures of this moment.
    init() throws {
        let text = try String(contentsOfFile: "/proc/self/io", encoding: .utf8)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("write_bytes:") }),
            let count = line.split(separator: " ").last.flatMap({ Int($0) })
        else { throw BenchmarkError("/proc/self/io has no write_bytes: the kernel lacks CONFIG_TASK_IO_ACCOUNTING") }
        diskBytes = count
        freeHeap = mallinfo2().fordblks
    }

    /// - Returns: nil if it is something else that was written.
    init?(_ text: Substring) {
        let parts = text.split(separator: " ")
        guard parts.count == 3, parts[0] == "mark", let diskBytes = Int(parts[1]), let freeHeap = Int(parts[2]) else {
            return nil
        }
        self.diskBytes = diskBytes
        self.freeHeap = freeHeap
    }

    func write() {
        let text = "mark \(diskBytes) \(freeHeap)\n"
        _ = Glibc.write(STDOUT_FILENO, text, text.utf8.count)
    }
}

/// Makes updates between marks. Run by the benchmark itself, under strace.
struct TracedUpdates: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "traced-updates", shouldDisplay: false)

    @Option var entrant: Entrant
    @Option var kind: UpdateKind
    @Option var updates: Int
    @Option var recordSize: Int
    @Argument var directory: String

    static func arguments(
        _ entrant: Entrant, _ kind: UpdateKind, updates: Int, recordSize: Int, directory: String
    ) -> [String] {
        [
            "traced-updates", "--entrant", entrant.rawValue, "--kind", kind.rawValue, "--updates", "\(updates)",
            "--record-size", "\(recordSize)", directory,
        ]
    }

    func run() throws {
        var workload = Workload(backupCount: Benchmark.updateBackups)
        let contestant = try entrant.open(in: directory, recordSize: recordSize)
        try contestant.setUp(workload.networks)
        try Mark().write()
        for _ in 0..<updates {
            try contestant.make(workload.next(kind))
            try Mark().write()
        }
    }
}

/// Opens a file that is there and makes an update of each kind, between marks. Run by the benchmark itself, under
/// strace.
struct TracedOpening: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "traced-opening", shouldDisplay: false)

    @Option var entrant: Entrant
    @Option var recordSize: Int
    @Argument var directory: String

    static func arguments(_ entrant: Entrant, recordSize: Int, directory: String) -> [String] {
        ["traced-opening", "--entrant", entrant.rawValue, "--record-size", "\(recordSize)", directory]
    }

    func run() throws {
        var workload = Workload(backupCount: Benchmark.openingBackups)
        let changes = UpdateKind.allCases.map { workload.next($0) }
        try Mark().write()
        let contestant = try entrant.open(in: directory, recordSize: recordSize)
        try Mark().write()
        for change in changes {
            try contestant.make(change)
            try Mark().write()
        }
    }
}

extension UpdateKind: ExpressibleByArgument {}
