import AgentModel
import Crypto
import Glibc
import Logging
import Synchronization

/// Leaves a mark in the runtime folder while data from outside are being read. A mark that is there at the start is of
/// a source that the agent died of, or was killed over: that is left alone for a minute, after the next time for two,
/// up to a day. A reading that ends leaves no mark.
///
/// The folder is in memory (tmpfs), so a mark costs no flash, and a restart of the machine begins anew. If none can be
/// written everything is read all the same.
final class ReadingMarks: OutsideWatch {
    private struct Entry {
        var mark: ReadingMark
        /// How many are reading it.
        var readers = 0
    }

    /// More than a device has networks and providers.
    private static let limit = 128

    /// The name of the folder, in the runtime folder.
    static let folder = "reading"

    private let folder: String
    private let now: @Sendable () -> Instant
    private let log: Logger
    private let entries = Mutex<[String: Entry]>([:])

    /// - Parameter folder: is made where it is not there.
    init(in folder: String, now: @escaping @Sendable () -> Instant = { .now }, log: Logger) {
        (self.folder, self.now, self.log) = (folder, now, log)
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
                \(name) was being read when the agent ended without a word (\(deaths) in a row): \
                it is left alone for \((until - now()).milliseconds / 1000) s
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
            // Those that come after the most there may be are read without a mark.
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

    /// The agent ends as it is meant to: what it was reading is not to blame.
    func finish() {
        entries.withLock { entries in
            for (name, entry) in entries where entry.readers > 0 { unlink(path(name)) }
        }
    }

    /// Removes all marks, for an agent that does not run.
    static func removeAll(in folder: String) {
        for name in names(in: folder) { unlink("\(folder)/\(name)") }
    }

    // MARK: Files

    /// `captive-api-0123456789abcdef`: of names that the air has chosen no byte becomes one of a path.
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

    /// At one stroke as far as a reader after a death can tell: a line that is cut short is no mark.
    private func write(_ mark: ReadingMark, to name: String) {
        let file = open(path(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        let line = Array((mark.text + "\n").utf8)
        _ = Glibc.write(file, line, line.count)
    }
}
