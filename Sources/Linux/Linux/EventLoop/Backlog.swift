import Glibc
import Synchronization

/// Bounded work queue on the ``DiskLoop``. If it is full, further work is dropped.
public final class Backlog: Sendable {
    private let capacity: Int
    private let counts = Mutex(Counts())

    private struct Counts {
        var waiting = 0
        var lost = 0
    }

    /// - Parameter capacity: maximum number of waiting items.
    public init(capacity: Int) { self.capacity = capacity }

    /// - Parameter work: gets the number of items dropped since the last accepted one.
    public func add(_ work: @escaping @Sendable (_ lost: Int) -> Void) {
        let lost: Int? = counts.withLock { counts in
            guard counts.waiting < capacity else {
                counts.lost += 1
                return nil
            }
            defer { counts.lost = 0 }
            counts.waiting += 1
            return counts.lost
        }
        guard let lost else { return }
        DiskLoop.perform { [self] in
            work(lost)
            counts.withLock { $0.waiting -= 1 }
        }
    }

    /// Waits until all added work is done. Do not call this on the disk loop.
    public func finish() {
        let end = Wakeup()
        DiskLoop.perform { end.ring() }
        _ = end.wait(within: nil)
    }
}

/// Writes lines to a stream that may block, such as a log, without blocking the caller or the ``DiskLoop``. If too many
/// lines wait, drops further lines. The next written line follows a line with the number of dropped ones.
public final class LineStream: Sendable {
    private let descriptor: Int32
    private let isSocket: Bool
    private let capacity: Int
    private let lossLine: @Sendable (Int) -> [UInt8]
    private let state = Mutex(State())

    private struct State {
        /// Waiting lines. The first one is being written.
        var lines: [ArraySlice<UInt8>] = []
        var lost = 0
        /// True while the disk loop writes or waits for room.
        var isBusy = false
        var roomWatch: RunQueue.Number?
        var waiters: [Wakeup] = []
    }

    /// - Parameters:
    ///   - descriptor: must stay open for writing as long as the stream exists; if negative, all lines are dropped.
    ///   - capacity: maximum number of waiting lines.
    public init(descriptor: Int32, capacity: Int, lossLine: @escaping @Sendable (Int) -> [UInt8]) {
        self.descriptor = descriptor
        self.capacity = capacity
        self.lossLine = lossLine
        var status = stat()
        isSocket = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    /// Queues a line, with its line feed. Drops it if `capacity` lines wait.
    public func put(_ line: [UInt8]) {
        guard descriptor >= 0 else { return }
        let isToBegin: Bool = state.withLock { state in
            guard state.lines.count < capacity else {
                state.lost += 1
                return false
            }
            recordLoss(&state)
            state.lines.append(line[...])
            return begin(&state)
        }
        if isToBegin { DiskLoop.perform { [self] in write() } }
    }

    /// Waits until all lines are written, at most `limit`.
    public func flush(within limit: Duration) {
        let end = Wakeup()
        let isToBegin: Bool? = state.withLock { state in
            recordLoss(&state)
            guard !state.lines.isEmpty else { return nil }
            state.waiters.append(end)
            return begin(&state)
        }
        guard let isToBegin else { return }
        if isToBegin { DiskLoop.perform { [self] in write() } }
        _ = end.wait(within: limit)
    }

    private func recordLoss(_ state: inout State) {
        guard state.lost > 0 else { return }
        state.lines.append(lossLine(state.lost)[...])
        state.lost = 0
    }

    /// - Returns: true if the caller must start the write on the disk loop.
    private func begin(_ state: inout State) -> Bool {
        defer { state.isBusy = true }
        return !state.isBusy
    }

    // MARK: On the disk loop

    private func write() {
        while let line = state.withLock({ $0.lines.first }) {
            guard let count = writeSome(of: line) else { return writeLater() }
            state.withLock { state in
                if count < line.count { state.lines[0] = line.dropFirst(count) } else { state.lines.removeFirst() }
            }
        }
        // The recursive call writes lines that have arrived since.
        let (waiters, isMore) = state.withLock { state in
            state.isBusy = !state.lines.isEmpty
            defer { if !state.isBusy { state.waiters = [] } }
            return (state.waiters, state.isBusy)
        }
        guard !isMore else { return write() }
        for waiter in waiters { waiter.ring() }
    }

    /// - Returns: number of bytes that were written or dropped; nil if the stream has no room.
    private func writeSome(of line: ArraySlice<UInt8>) -> Int? {
        guard Readiness.writable.wait(on: descriptor, within: .zero) else { return nil }
        let count = line.withUnsafeBytes { bytes in
            // A writable pipe has room for `PIPE_BUF` bytes (pipe(7)). A socket may have less.
            isSocket
                ? send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT))
                : Glibc.write(descriptor, bytes.baseAddress, min(bytes.count, Int(PIPE_BUF)))
        }
        if count > 0 { return count }
        // Drops the line after other failures, because they do not recover.
        return errno == EAGAIN || errno == EINTR ? nil : line.count
    }

    private func writeLater() {
        let number = DiskLoop.thread.call(when: .writable, descriptor) { [self] in
            state.withLock { $0.roomWatch.take() }.map { DiskLoop.thread.cancel($0) }
            write()
        }
        state.withLock { $0.roomWatch = number }
    }
}
