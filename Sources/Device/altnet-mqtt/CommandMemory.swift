import AgentModel
import Glibc
import Linux

/// Stores the IDs of the last commands in a file, one per line. After a restart, the bridge does not repeat these
/// commands.
struct CommandMemory {
    /// Path of the file; nil to store nothing.
    let path: String?
    private static let longest = 64 * 1024

    func read() -> [String] {
        guard let path else { return [] }
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Self.longest)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count > 0 else { return [] }
        return bytes[..<count].split(separator: UInt8(ascii: "\n")).compactMap { line in
            line.count.isMultiple(of: 2) ? Hex.bytes(String(decoding: line, as: UTF8.self)) : nil
        }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Writes the IDs in hexadecimal digits, as they may contain any text. Returns when they are on disk.
    func write(_ ids: [String]) throws(SystemError) {
        guard let path else { return }
        try DurableFile.write(ids.map { Hex.string($0.utf8) + "\n" }.joined(), to: path)
    }
}

/// Writes files atomically: a power cut leaves either the old or the new content.
enum DurableFile {
    /// Writes the file with mode 0600. Returns when its content and name are on disk.
    static func write(_ text: String, to path: String) throws(SystemError) {
        let new = path + ".new"
        let file = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemError("write \(new)") }
        defer { close(file) }
        try writeAll(text.utf8, to: file, attempting: "write \(new)")
        guard fsync(file) == 0 else { throw SystemError("write \(new)") }
        guard rename(new, path) == 0 else { throw SystemError("write \(path)") }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let directory = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw SystemError("write \(path)") }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw SystemError("write \(path)") }
    }
}
