import KeyFile
import Randomness

/// What a store is on in a test: it can be copied as a power cut, or a kill, would leave it at any moment.
package protocol SimulatedStorage: AnyObject {
    /// What the store opens. Each opening gets its own.
    func medium() throws(KeyFileError) -> any Medium
    /// Called in the middle of every operation that changes or synchronises something. Whoever is called may take copies.
    var onOperation: (() -> Void)? { get set }
    /// Makes one operation fail.
    var accident: Accident? { get set }
    /// How many operations there were, reading included.
    var operations: Int { get }
    /// How many of them change or synchronise something.
    var writes: Int { get }
    /// What the storage saw that real storage would not take, in words; empty if all is well.
    var violations: [String] { get }
    /// The storage as it may be when the power comes back.
    /// - Parameter outcome: what became of the operation that was under way, if one was.
    func afterPowerCut(_ outcome: CutOutcome, using random: inout SeededRandom) -> any SimulatedStorage
    /// The storage after the process was killed in the middle of the operation under way, if there is one: what the system
    /// has in its memory is not lost.
    func afterKill(using random: inout SeededRandom) -> any SimulatedStorage
}

/// What became of an operation that the power was cut in.
package enum CutOutcome: CaseIterable, Sendable {
    /// It had not begun.
    case before
    /// It was done, but nobody learnt of it.
    case after
    /// Only its first part was done.
    case prefix
    /// Only its last part was done.
    case suffix
    /// Any part was done: bytes or bits here and there.
    case mixed
    /// A part of what it wrote is zeros.
    case zeroed
    /// A part of what it wrote is anything.
    case random
}

/// The operation with the number `at`, counted from 0, fails once.
package struct Accident: Sendable {
    package var at: Int
    package var errno: Int32

    package init(at: Int, errno: Int32) {
        self.at = at
        self.errno = errno
    }
}

extension SeededRandom {
    /// - Parameter limit: more than 0.
    package mutating func below(_ limit: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(limit)) }

    mutating func part(of count: Int) -> Range<Int> {
        let (one, other) = (below(count + 1), below(count + 1))
        return min(one, other)..<max(one, other)
    }

    mutating func outcome() -> CutOutcome { CutOutcome.allCases[below(CutOutcome.allCases.count)] }
}
