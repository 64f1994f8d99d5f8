import Synchronization

/// Counts who is inside.
final class Room: Sendable {
    private let count = Mutex(0)

    /// - Returns: whether there was a place for one more.
    func enter(limit: Int) -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    /// To be called once for each that has entered.
    func leave() { count.withLock { $0 -= 1 } }
}
