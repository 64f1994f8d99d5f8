import AgentModel
import Crypto
import Glibc
import Logging
import Synchronization

/// Writes a mark to the runtime folder while the agent reads outside data. If the agent finds a mark at its start, it
/// crashed or was killed during that reading. It then skips the source: for 1 min after the first crash, and twice as
/// long after each further one, up to a day.
///
/// The folder is a tmpfs, so marks cost no flash and end with a reboot. Without the folder, the agent reads without
/// marks.
final class ReadingMarks: OutsideWatch {
    private struct Entry {
        var mark: ReadingMark
        var readers = 0
    }

    /// Maximum number of entries, above the number of a device's networks and providers.
    private static let limit = 128

    static let folder = "reading"

    private let folder: String
    private let now: @Sendable () -> Instant
    private let entries = Mutex<[String: Entry]>([:])

    /// - Parameter folder: folder of the marks, which is created if it is missing.
    init(in folder: String, now: @escaping @Sendable () -> Instant = { .now }, log: Logger) {
        (self.folder, self.now) = (folder, now)
        mkdir(folder, 0o700)
        let found = Self.names(in: folder)
        for name in found.dropFirst(Self.limit) { unlink(path(name)) }
        for name in found.prefix(Self.limit) {
            guard let old = content(of: name).flatMap({ ReadingMark($0) }) else {
                unlink(path(name))
                continue
            }
            let mark = old.found(at: now())
            entries.withLock { $0[name] = Entry(mark: mark) }
            guard mark != old, case .leftAlone(let deaths, let until) = mark else { continue }
            write(mark, to: name)
            log.error(
                """
                the agent crashed while it was reading \(name) (\(deaths) in a row): \
                skipping it for \((until - now()).milliseconds / 1000) s
                """)
        }
    }

    func begin(_ source: OutsideSource) -> Bool {
        let name = Self.fileName(source)
        return entries.withLock { entries in
            var entry = entries[name] ?? Entry(mark: .reading(deaths: 0))
            guard let mark = entry.mark.begun(at: now()) else { return false }
            entry.mark = mark
            entry.readers += 1
            // Read sources beyond the limit without a mark.
            guard entries[name] != nil || entries.count < Self.limit else { return true }
            entries[name] = entry
            if entry.readers == 1 { write(mark, to: name) }
            return true
        }
    }

    func end(_ source: OutsideSource) {
        let name = Self.fileName(source)
        entries.withLock { entries in
            guard var entry = entries[name], entry.readers > 0 else { return }
            entry.readers -= 1
            entries[name] = entry.readers > 0 ? entry : nil
            if entry.readers == 0 { unlink(path(name)) }
        }
    }

    /// Removes the marks of running readings. Call this when the agent ends normally.
    func finish() {
        entries.withLock { entries in
            for (name, entry) in entries where entry.readers > 0 { unlink(path(name)) }
        }
    }

    /// Removes all marks. Call this only while the agent is not running.
    static func removeAll(in folder: String) {
        for name in names(in: folder) { unlink("\(folder)/\(name)") }
    }

    // MARK: Files

    /// Returns a file name such as `captive-api-0123456789abcdef`. Hashes the source's name, because text from outside
    /// must not become part of a path.
    static func fileName(_ source: OutsideSource) -> String {
        "\(source.kind.rawValue)-\(Hex.string(SHA256.hash(data: Array(source.name.utf8)).prefix(8)))"
    }

    private func path(_ name: String) -> String { "\(folder)/\(name)" }

    private static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if OutsideSource.Kind.allCases.contains(where: { name.hasPrefix($0.rawValue + "-") }) { names.append(name) }
        }
        return names.sorted()
    }

    private func content(of name: String) -> String? {
        let file = open(path(name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(file, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(count, 0)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// Writes a mark. A crash can cut the line short. Such a mark is ignored, so the file is not replaced atomically.
    private func write(_ mark: ReadingMark, to name: String) {
        let file = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        let line = Array((mark.text + "\n").utf8)
        _ = Glibc.write(file, line, line.count)
    }
}
