import CSQLite
import FoundationEssentials
import Glibc

/// What a traced process writes to its standard output, so that the trace shows where a step begins and ends. With it
/// go two figures that only the process itself can read.
struct Mark {
    /// Bytes that the kernel will send to the disk for what the process did so far (`write_bytes` in proc(5)): whole
    /// pages, also of what is written through mapped memory. Without the file system's own notes.
    let diskBytes: Int
    /// Bytes of the heap that are free and could be handed out without asking the kernel for more.
    let freeHeap: Int

    /// What is true now.
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
