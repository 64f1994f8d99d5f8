import AgentModel
import Failover
import Glibc
import Linux
import Synchronization

/// Writes the policy's events and actions to a file, in order, on the disk loop.
///
/// Never blocks the agent: if the disk is too slow, entries are dropped and the file contains their number. The file
/// contains names and addresses of networks, but no secret. It stops growing at a limit.
final class Recording: Sendable {
    private let path: String
    private let limit: Int
    private let onEnd: @Sendable (RecordError) -> Void
    let backlog = Backlog(capacity: Recording.capacity)
    private let file: Mutex<File>

    /// Maximum number of entries that wait for the disk. Most are short; an entry of a scan has some kilobytes.
    static let capacity = 512

    private struct File {
        /// Descriptor of the file; nil once the recording has ended.
        var descriptor: Int32?
        var size: Int
    }

    /// Opens or creates the file with mode 0600 and begins a run at its end.
    /// - Parameters:
    ///   - limit: maximum size of the file in bytes.
    ///   - agent: version of the agent, one word.
    ///   - onEnd: called once, on any thread, when the file is full or the disk fails.
    init(
        path: String, limit: Int, agent: String, settings: PolicySettings,
        onEnd: @escaping @Sendable (RecordError) -> Void
    ) throws(RecordError) {
        self.path = path
        self.limit = limit
        self.onEnd = onEnd
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let descriptor = open(path, flags, 0o600)
        guard descriptor >= 0 else { throw RecordError(file: path, reason: .system(SystemError("open"))) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw RecordError(file: path, reason: .notAFile)
        }
        // An existing file may have another mode.
        fchmod(descriptor, 0o600)
        let size = Int(status.st_size)
        guard size < limit else {
            close(descriptor)
            throw RecordError(file: path, reason: .full(limit: limit))
        }
        file = Mutex(File(descriptor: descriptor, size: size))
        // A crash may have cut the last line short, so begin with a line feed. An empty line does no harm.
        let separator = size == 0 ? [] : [UInt8(ascii: "\n")]
        DiskLoop.perform { [self] in write(separator + RecordLine.run(agent: agent, settings: settings).text) }
    }

    deinit { file.withLock { file in file.descriptor.map { _ = close($0) } } }

    func append(_ event: PolicyEvent, at now: Instant, _ actions: [PolicyAction]) {
        backlog.add { [self] missed in
            let gap = missed > 0 ? RecordLine.gap(missed: missed).text : []
            write(gap + RecordLine.step(at: now, event: event, actions: actions).text)
        }
    }

    func finish() {
        backlog.finish()
        end(nil)
    }

    private func write(_ text: [UInt8]) {
        let failure: RecordError.Reason? = file.withLock { file in
            guard let descriptor = file.descriptor else { return nil }
            var text = text
            var isFull = false
            let full = RecordLine.full.text
            if file.size + text.count + full.count > limit {
                (text, isFull) = (full, true)
            }
            do throws(SystemError) { try writeAll(text, to: descriptor, attempting: "write") } catch {
                return .system(error)
            }
            file.size += text.count
            return isFull ? .full(limit: limit) : nil
        }
        if let failure { end(failure) }
    }

    private func end(_ reason: RecordError.Reason?) {
        let descriptor = file.withLock { file in
            defer { file.descriptor = nil }
            return file.descriptor
        }
        guard let descriptor else { return }
        close(descriptor)
        if let reason { onEnd(RecordError(file: path, reason: reason)) }
    }
}
