import AgentModel
import AppProtocol
import Glibc
import Linux
import Logging
import Synchronization

/// Writes the log's lines on the disk loop.
///
/// It never blocks a thread that logs: while nothing reads, lines are left out and the next line written says how many.
public final class LogSink: Sendable {
    /// Whether the journal of systemd reads it, which knows the time by itself and takes the level as a number.
    let isJournal: Bool
    private let lines: LineStream
    private let threshold: Mutex<Logger.Level>

    /// The most lines that wait to be written.
    static let capacity = 512
    /// In bytes; the rest of a longer line is left out. The journal's own limit is larger.
    static let longestLine = 8192

    /// - Parameter descriptor: open for writing for as long as the sink is in use.
    public init(
        descriptor: Int32 = STDERR_FILENO, level: Logger.Level = .notice, journal: String? = nil
    ) {
        let isJournal = journal.map { Self.isStream($0, descriptor) } ?? false
        self.isJournal = isJournal
        lines = LineStream(descriptor: descriptor, capacity: Self.capacity) { count in
            let text = "\(count) lines of the log are missing: it was not read in time"
            return Self.form(text, .warning, isJournal: isJournal)
        }
        threshold = Mutex(level)
    }

    /// The lowest level that is logged.
    public var level: Logger.Level {
        get { threshold.withLock { $0 } }
        set { threshold.withLock { $0 = newValue } }
    }

    /// Has a line written.
    /// - Parameter line: printable text.
    func put(_ line: String, _ level: Logger.Level) {
        lines.put(Self.form(line, level, isJournal: isJournal))
    }

    /// Has a line written that says why the agent does not run, whatever level counts.
    public func complain(_ line: String) { put(line.printable, .critical) }

    /// Waits until what was logged is written, and no longer than this.
    public func flush(within limit: Duration = .seconds(1)) { lines.flush(within: limit) }

    private static func form(_ line: String, _ level: Logger.Level, isJournal: Bool) -> [UInt8] {
        let start = isJournal ? "<\(level.priority)>" : "\(Timestamp.now) \(level) "
        return Array((start + line).utf8.prefix(longestLine - 1)) + [UInt8(ascii: "\n")]
    }

    /// Whether `$JOURNAL_STREAM`, a device's and an inode's number, is about this file (systemd.exec(5)).
    private static func isStream(_ journal: String, _ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && journal == "\(status.st_dev):\(status.st_ino)"
    }
}

extension Logger.Level {
    /// As syslog(3) counts.
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

/// Gives what is logged to a sink, which knows the level that counts.
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
        // Text from outside cannot make a line of its own, nor move the cursor of a terminal.
        sink.put("\(event.message)".printable, event.level)
    }
}
