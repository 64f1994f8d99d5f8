import FoundationEssentials

/// What the kernel was asked for between two marks of a traced process. Nobody's own word is taken for it.
struct TracedStep {
    /// Bytes handed to write(2) and its kin, for files in the directory.
    var written = 0
    /// fsync(2), fdatasync(2) and their kin, for files in the directory and for itself.
    var syncs = 0
    /// See `Mark.diskBytes`.
    var diskBytes = 0
    /// By how many bytes the process's memory grew at most since the first mark: the heap, which the kernel gives out
    /// page by page, and mappings of any kind. What was free in the heap at the first mark counts as if it had all been
    /// used.
    var peakMemory = 0
}

/// Reads a trace: the steps between its marks.
struct Trace {
    private(set) var steps: [TracedStep] = []

    private static let writes: Set<Substring> = ["write", "pwrite64", "writev", "pwritev", "pwritev2"]
    private static let syncs: Set<Substring> = ["fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync"]
    private static let memory: Set<Substring> = ["brk", "mmap", "mmap2", "munmap", "mremap"]

    /// What strace has to write down, as its option `-e`; a call that the machine does not have is none to miss.
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
