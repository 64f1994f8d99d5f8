import AgentModel
import Glibc
import KeyFile
import Linux

/// A small text file of the agent's, which is replaced as a whole.
struct SmallFile: Sendable {
    let directory: String
    let name: String
    /// In bytes.
    let longest: Int

    /// Nil where there is none, or none that can be read.
    func read() -> [UInt8]? {
        guard let folder = try? Folder.openForReading(directory),
            let content = try? folder.readSmall(name, maximum: longest)
        else { return nil }
        return content.withBytes { Array($0) }
    }

    /// - Throws: where it cannot be written; what was there stays.
    func write(_ text: String) throws(KeyFileError) {
        let folder = try Folder.open(directory)
        try Secret(text: text).withBytes { bytes throws(KeyFileError) in try folder.replace(name, with: bytes) }
    }
}

/// A small file about one start of the system, which it names.
protocol BootRecord: Sendable {
    associatedtype Content: Sendable

    /// - Parameter boot: names this start of the system.
    /// - Throws: where it cannot be written; what was there stays.
    func write(_ content: Content, boot: String) throws(KeyFileError)
}

/// Writes one state of such a file after the other, on the disk loop.
actor BootRecordStore<Record: BootRecord> {
    nonisolated var unownedExecutor: UnownedSerialExecutor { DiskLoop.sharedUnownedExecutor }

    private let record: Record
    private let boot = SystemStart.id

    init(_ record: Record) { self.record = record }

    func write(_ content: Record.Content) throws(KeyFileError) { try record.write(content, boot: boot) }
}

enum SystemStart {
    /// Names this start of the system (random.c in the kernel); empty where it is not told.
    static var id: String {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "" }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        guard fgets(&line, Int32(line.count), file) != nil else { return "" }
        return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
