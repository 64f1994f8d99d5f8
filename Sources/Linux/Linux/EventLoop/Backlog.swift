import Dispatch
import Synchronization

/// Work for a thread of its own, done in order: for what may be slow, such as a disk or whoever reads a log, and must hold
/// up nobody. Where too much of it waits already, more is left out, and the next that is taken on learns how much.
public final class Backlog: Sendable {
    /// Where the work is done. What is put here directly is done in its turn, and is never left out.
    public let queue: DispatchQueue
    private let capacity: Int
    private let counts = Mutex(Counts())

    private struct Counts {
        var waiting = 0
        var lost = 0
    }

    /// - Parameter capacity: how much may wait.
    public init(label: String, capacity: Int) {
        queue = DispatchQueue(label: label, qos: .utility)
        self.capacity = capacity
    }

    /// Has work done, or leaves it out.
    /// - Parameter work: is told how much was left out since the last that was taken on.
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
        queue.async { [self] in
            work(lost)
            counts.withLock { $0.waiting -= 1 }
        }
    }

    /// How much was left out that nobody has been told of, for when nothing more is to come.
    public func takeLost() -> Int {
        counts.withLock { counts in
            defer { counts.lost = 0 }
            return counts.lost
        }
    }
}
