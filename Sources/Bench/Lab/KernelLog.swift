import Glibc

/// What the kernel has logged since a scenario began.
final class KernelLog: Sendable {
    private let file: FileDescriptor

    /// Marks the beginning.
    init() throws(LabError) {
        file = try FileDescriptor.open("/dev/kmsg", O_RDONLY | O_NONBLOCK)
        lseek(file.number, 0, SEEK_END)
    }

    /// All messages since the beginning or the last call.
    func read() -> [String] {
        var lines: [String] = []
        var record = [UInt8](repeating: 0, count: 8192)
        while true {
            // One record a read: "level,sequence,time,flags;message" (Documentation/ABI/testing/dev-kmsg).
            let count = Glibc.read(file.number, &record, record.count)
            if count < 0 && errno == EPIPE { continue }  // Overwritten before it was read: go on with what is there.
            guard count > 0 else { return lines }
            let text = String(decoding: record.prefix(count), as: UTF8.self)
            lines.append(String(text.drop { $0 != ";" }.dropFirst().prefix { $0 != "\n" }))
        }
    }

    /// Those of `lines` that show a defect in the kernel: a test that passes on a broken kernel has failed.
    static func complaints(in lines: [String]) -> [String] {
        let marks = [
            "WARNING: ", "BUG: ", "Oops", "general protection fault", "Call Trace:", "INFO: task ", "refcount_t: ",
            "UBSAN: ", "KASAN: ", "detected stall",
        ]
        return lines.filter { line in marks.contains { line.contains($0) } }
    }
}
