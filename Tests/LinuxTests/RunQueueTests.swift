import Synchronization
import Testing

@testable import Linux

@Suite struct RunQueueTests {
    private let start = SuspendingClock.now

    private func after(_ milliseconds: Int) -> SuspendingClock.Instant { start + .milliseconds(milliseconds) }

    @Test func waitsForEverWhereNothingIsToBeDone() {
        #expect(RunQueue().patience(at: start) == nil)
    }

    @Test func whatIsDueFirstComesFirst() {
        var queue = RunQueue()
        let calls = Calls()
        for due in [30, 10, 20] { _ = queue.add(due: after(due), latest: after(due)) { calls.record(due) } }
        #expect(queue.dequeueDue(at: after(9), isQuiet: true) == nil)
        while let call = queue.dequeueDue(at: after(25), isQuiet: true) { call() }
        #expect(calls.noted == [10, 20])
        #expect(queue.patience(at: after(25)) == .milliseconds(5))
    }

    @Test func whatIsDueAtOneTimeComesInItsOrder() {
        var queue = RunQueue()
        let calls = Calls()
        for number in 1...3 { _ = queue.add(due: start, latest: start) { calls.record(number) } }
        while let call = queue.dequeueDue(at: start, isQuiet: true) { call() }
        #expect(calls.noted == [1, 2, 3])
    }

    @Test func whatMayBeLateWaitsForWhatMayNot() {
        var queue = RunQueue()
        _ = queue.add(due: after(10), latest: after(100)) {}
        #expect(queue.patience(at: start) == .milliseconds(100))
        _ = queue.add(due: after(50), latest: after(51)) {}
        #expect(queue.patience(at: start) == .milliseconds(51))
        #expect(queue.dequeueDue(at: after(51), isQuiet: true) != nil)
        #expect(queue.dequeueDue(at: after(51), isQuiet: true) != nil)
    }

    @Test func waitsNoLongerWhereItIsLate() {
        var queue = RunQueue()
        _ = queue.add(due: start, latest: start) {}
        #expect(queue.patience(at: after(10)) == .zero)
    }

    @Test func whatCanWaitWaitsForWhatIsThereToBeRead() {
        var queue = RunQueue()
        _ = queue.add(due: start, latest: after(1)) {}
        #expect(queue.patience(at: start) == .zero, "and what is there is looked at at once")
        #expect(queue.dequeueDue(at: start, isQuiet: false) == nil)
        #expect(queue.dequeueDue(at: after(1), isQuiet: false) != nil)
        #expect(queue.dequeueDue(at: after(1), isQuiet: true) == nil)
    }

    @Test func callsNothingThatWasCancelled() {
        var queue = RunQueue()
        let timer = queue.add(due: start, latest: start) {}
        let watch = queue.add(descriptor: 7, .readable) {}
        #expect(queue.watches.map(\.descriptor) == [7])
        queue.remove(timer)
        queue.remove(watch)
        #expect(queue.dequeueDue(at: start, isQuiet: true) == nil)
        #expect(queue.watches.isEmpty)
        #expect(queue.action(of: watch) == nil)
    }
}

/// The calls made, in order.
private final class Calls: Sendable {
    private let list = Mutex<[Int]>([])
    var noted: [Int] { list.withLock { $0 } }
    func record(_ call: Int) { list.withLock { $0.append(call) } }
}
