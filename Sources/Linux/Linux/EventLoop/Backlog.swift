import Glibc
import Synchronization

/// Work for the ``DiskLoop``, done in order. If too much of it waits already, more is left out, and the next work that
/// is accepted learns how much.
public final class Backlog: Sendable {
    private let capacity: Int
    private let counts = Mutex(Counts())

    private struct Counts {
        var waiting = 0
        var lost = 0
    }

    /// - Parameter capacity: how much may wait.
    public init(capacity: Int) { self.capacity = capacity }

    /// Has work done, or leaves it out.
    /// - Parameter work: is told how much was left out since the last that was accepted.
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

    /// Waits until all that was added is done. Not to be called on the disk loop.
    public func finish() {
        let end = Wakeup()
        DiskLoop.perform { end.ring() }
        _ = end.wait(within: nil)
    }
}

/// Lines for a stream that may not be read, such as a log: the caller never waits, and neither does the ``DiskLoop``.
/// Where too many lines wait, more are left out, and the next one that is written comes after a line that says how
/// many.
public final class LineStream: Sendable {
    private let descriptor: Int32
    private let isSocket: Bool
    private let capacity: Int
    private let lossLine: @Sendable (Int) -> [UInt8]
    private let state = Mutex(State())

    private struct State {
        /// The first is being written.
        var lines: [ArraySlice<UInt8>] = []
        var lost = 0
        /// Whether the disk loop is at work on them, or waits for room.
        var isBusy = false
        var roomWatch: RunQueue.Number?
        var waiters: [Wakeup] = []
    }

    /// - Parameters:
    ///   - descriptor: open for writing for as long as this is in use.
    ///   - capacity: how many lines may wait.
    ///   - lossLine: a line that says how many are missing.
    public init(descriptor: Int32, capacity: Int, lossLine: @escaping @Sendable (Int) -> [UInt8]) {
        self.descriptor = descriptor
        self.capacity = capacity
        self.lossLine = lossLine
        var status = stat()
        isSocket = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFSOCK
    }

    /// Has a line written, or leaves it out.
    public func put(_ line: [UInt8]) {
        guard descriptor >= 0 else { return }
        let isToBegin: Bool = state.withLock { state in
            guard state.lines.count < capacity else {
                state.lost += 1
                return false
            }
            noteLoss(&state)
            state.lines.append(line[...])
            return begin(&state)
        }
        if isToBegin { DiskLoop.perform { [self] in write() } }
    }

    /// Waits until all lines are written, and no longer than this.
    public func flush(within limit: Duration) {
        let end = Wakeup()
        let isToBegin: Bool? = state.withLock { state in
            noteLoss(&state)
            guard !state.lines.isEmpty else { return nil }
            state.waiters.append(end)
            return begin(&state)
        }
        guard let isToBegin else { return }
        if isToBegin { DiskLoop.perform { [self] in write() } }
        _ = end.wait(within: limit)
    }

    private func noteLoss(_ state: inout State) {
        guard state.lost > 0 else { return }
        state.lines.append(lossLine(state.lost)[...])
        state.lost = 0
    }

    /// - Returns: whether the disk loop is to be called.
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
        // A line that came in between is written by the call that it makes.
        let (waiters, isMore) = state.withLock { state in
            state.isBusy = !state.lines.isEmpty
            defer { if !state.isBusy { state.waiters = [] } }
            return (state.waiters, state.isBusy)
        }
        guard !isMore else { return write() }
        for waiter in waiters { waiter.ring() }
    }

    /// - Returns: how many bytes are done with; nil where there is no room.
    private func writeSome(of line: ArraySlice<UInt8>) -> Int? {
        guard Readiness.writable.wait(on: descriptor, within: .zero) else { return nil }
        let count = line.withUnsafeBytes { bytes in
            // A pipe with any room has it for so much (pipe(7)). A socket may have less.
            isSocket
                ? send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT))
                : Glibc.write(descriptor, bytes.baseAddress, min(bytes.count, Int(PIPE_BUF)))
        }
        if count > 0 { return count }
        // Any other failure stays one: the line is lost, without a report.
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
