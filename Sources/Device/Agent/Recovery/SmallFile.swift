import AgentModel
import Glibc
import KeyFile
import Linux

struct SmallFile: Sendable {
    let directory: String
    let name: String
    /// Maximum length of the file in bytes.
    let longest: Int

    func read() -> [UInt8]? {
        guard let folder = try? Folder.openForReading(directory),
            let content = try? folder.readSmall(name, maximum: longest)
        else { return nil }
        return content.withBytes { Array($0) }
    }

    /// - Throws: `KeyFileError`. The old file stays.
    func write(_ text: String) throws(KeyFileError) {
        let folder = try Folder.open(directory)
        try Secret(text: text).withBytes { bytes throws(KeyFileError) in try folder.replace(name, with: bytes) }
    }
}

/// A small file about one boot. It contains the boot's ID.
protocol BootRecord: Sendable {
    associatedtype Content: Sendable

    /// - Parameter boot: ID of this boot.
    /// - Throws: `KeyFileError`. The old file stays.
    func write(_ content: Content, boot: String) throws(KeyFileError)
}

/// Writes the record on the disk loop, one version after the other.
actor BootRecordStore<Record: BootRecord> {
    nonisolated var unownedExecutor: UnownedSerialExecutor { DiskLoop.sharedUnownedExecutor }

    private let record: Record
    private let boot = SystemStart.id

    init(_ record: Record) { self.record = record }

    func write(_ content: Record.Content) throws(KeyFileError) { try record.write(content, boot: boot) }
}

enum SystemStart {
    /// ID of this boot (random.c in the kernel); empty if unknown.
    static var id: String {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "" }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        guard fgets(&line, Int32(line.count), file) != nil else { return "" }
        return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
