import Synchronization
import Testing

@testable import EventLoop

@Suite struct AgendaTests {
    private let start = SuspendingClock.now

    private func after(_ milliseconds: Int) -> SuspendingClock.Instant { start + .milliseconds(milliseconds) }

    @Test func waitsForEverWhereNothingIsToBeDone() {
        #expect(Agenda().patience(at: start) == nil)
    }

    @Test func whatIsDueFirstComesFirst() {
        var agenda = Agenda()
        let calls = Calls()
        for due in [30, 10, 20] { _ = agenda.add(due: after(due), latest: after(due)) { calls.note(due) } }
        #expect(agenda.takeDue(at: after(9), isQuiet: true) == nil)
        while let call = agenda.takeDue(at: after(25), isQuiet: true) { call() }
        #expect(calls.noted == [10, 20])
        #expect(agenda.patience(at: after(25)) == .milliseconds(5))
    }

    @Test func whatIsDueAtOneTimeComesInItsOrder() {
        var agenda = Agenda()
        let calls = Calls()
        for number in 1...3 { _ = agenda.add(due: start, latest: start) { calls.note(number) } }
        while let call = agenda.takeDue(at: start, isQuiet: true) { call() }
        #expect(calls.noted == [1, 2, 3])
    }

    @Test func whatMayBeLateWaitsForWhatMayNot() {
        var agenda = Agenda()
        _ = agenda.add(due: after(10), latest: after(100)) {}
        #expect(agenda.patience(at: start) == .milliseconds(100))
        _ = agenda.add(due: after(50), latest: after(51)) {}
        #expect(agenda.patience(at: start) == .milliseconds(51))
        #expect(agenda.takeDue(at: after(51), isQuiet: true) != nil)
        #expect(agenda.takeDue(at: after(51), isQuiet: true) != nil)
    }

    @Test func waitsNoLongerWhereItIsLate() {
        var agenda = Agenda()
        _ = agenda.add(due: start, latest: start) {}
        #expect(agenda.patience(at: after(10)) == .zero)
    }

    @Test func whatCanWaitWaitsForWhatIsThereToBeRead() {
        var agenda = Agenda()
        _ = agenda.add(due: start, latest: after(1)) {}
        #expect(agenda.patience(at: start) == .zero, "and what is there is looked at at once")
        #expect(agenda.takeDue(at: start, isQuiet: false) == nil)
        #expect(agenda.takeDue(at: after(1), isQuiet: false) != nil)
        #expect(agenda.takeDue(at: after(1), isQuiet: true) == nil)
    }

    @Test func callsNobodyWhoHasLeft() {
        var agenda = Agenda()
        let timer = agenda.add(due: start, latest: start) {}
        let watch = agenda.add(descriptor: 7) {}
        #expect(agenda.watches.map(\.descriptor) == [7])
        agenda.remove(timer)
        agenda.remove(watch)
        #expect(agenda.takeDue(at: start, isQuiet: true) == nil)
        #expect(agenda.watches.isEmpty)
        #expect(agenda.action(of: watch) == nil)
    }
}

/// Who was called, in order.
private final class Calls: Sendable {
    private let list = Mutex<[Int]>([])
    var noted: [Int] { list.withLock { $0 } }
    func note(_ call: Int) { list.withLock { $0.append(call) } }
}
