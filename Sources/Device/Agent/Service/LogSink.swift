import AgentModel
import AppProtocol
import Glibc
import Linux
import Logging
import Synchronization

/// Writes log lines on the disk loop.
///
/// Never blocks a thread: if the reader is too slow, lines are dropped and the next line contains their number.
public final class LogSink: Sendable {
    /// True if systemd's journal reads the log. The journal adds the time, and reads levels as numbers.
    let isJournal: Bool
    private let lines: LineStream
    private let threshold = Mutex(Logger.Level.notice)

    static let capacity = 512
    /// Maximum length of a line in bytes, below the journal's limit. Longer lines are cut.
    static let longestLine = 8192

    /// - Parameters:
    ///   - descriptor: descriptor that stays open for writing while the sink is in use.
    ///   - journal: value of `$JOURNAL_STREAM`.
    public init(descriptor: Int32 = STDERR_FILENO, journal: String? = nil) {
        let isJournal = journal.map { Self.isStream($0, descriptor) } ?? false
        self.isJournal = isJournal
        lines = LineStream(descriptor: descriptor, capacity: Self.capacity) { count in
            let text = "\(count) log lines were dropped: the reader was too slow"
            return Self.form(text, .warning, isJournal: isJournal)
        }
    }

    public var level: Logger.Level {
        get { threshold.withLock { $0 } }
        set { threshold.withLock { $0 = newValue } }
    }

    /// - Parameter line: printable text.
    func put(_ line: String, _ level: Logger.Level) {
        lines.put(Self.form(line, level, isJournal: isJournal))
    }

    /// Logs the reason why the agent cannot run, whatever the log level.
    public func complain(_ line: String) { put(line.printable, .critical) }

    public func flush(within limit: Duration = .seconds(1)) { lines.flush(within: limit) }

    private static func form(_ line: String, _ level: Logger.Level, isJournal: Bool) -> [UInt8] {
        let start = isJournal ? "<\(level.priority)>" : "\(Timestamp.now) \(level) "
        return Array((start + line).utf8.prefix(longestLine - 1)) + [UInt8(ascii: "\n")]
    }

    /// Returns true if the device and inode number in `$JOURNAL_STREAM` are those of this file (systemd.exec(5)).
    private static func isStream(_ journal: String, _ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && journal == "\(status.st_dev):\(status.st_ino)"
    }
}

extension Logger.Level {
    /// Priority of syslog(3).
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

public struct SinkLogHandler: LogHandler {
    private let sink: LogSink
    public var metadata: Logger.Metadata = [:]

    public init(_ sink: LogSink) { self.sink = sink }

    public var logLevel: Logger.Level {
        get { sink.level }
        set { sink.level = newValue }
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        // Text from outside must not add lines or move a terminal's cursor.
        sink.put("\(event.message)".printable, event.level)
    }
}
