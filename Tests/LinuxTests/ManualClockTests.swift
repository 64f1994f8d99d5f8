import AgentModel
import Glibc
import Synchronization
import Testing

@testable import Linux

@Suite(.timeLimit(.minutes(10))) struct ManualClockTests {
    @Test @AgentLoop func timersFireWhenTheTimeMovesAndInOrder() async {
        await ManualClock().run { clock in
            let calls = Calls()
            let timers = [30, 10, 20].map { due in
                LoopTimer(after: .milliseconds(due)) { calls.record("\(due)") }
            }
            clock.advance(by: .milliseconds(9))
            #expect(calls.noted.isEmpty)
            clock.advance(by: .milliseconds(16))
            #expect(calls.noted == ["10", "20"])
            clock.advance(by: .seconds(3600))
            #expect(calls.noted == ["10", "20", "30"])
            withExtendedLifetime(timers) {}
        }
    }

    /// The moment that a timer sees is its own, and what it sets anew is due on the way.
    @Test @AgentLoop func whatATimerSetsIsPartOfTheSameStep() async {
        await ManualClock(start: Instant(milliseconds: 1000)).run { clock in
            let ticker = Ticker()
            ticker.start(every: .milliseconds(400))
            clock.advance(by: .seconds(1))
            #expect(ticker.moments == [1200, 1600, 2000].map { Instant(milliseconds: $0) })
            #expect(Instant.now == Instant(milliseconds: 2000))
        }
    }

    @Test @AgentLoop func aCancelledTimerNeverFires() async {
        await ManualClock().run { clock in
            let calls = Calls()
            let timer = LoopTimer(after: .seconds(1)) { calls.record("fired") }
            timer.cancel()
            var second: LoopTimer? = LoopTimer(after: .seconds(1)) { calls.record("fired too") }
            second = nil
            clock.advance(by: .seconds(2))
            #expect(second == nil && calls.noted.isEmpty)
        }
    }

    /// An hour that would not pass in a test otherwise.
    @Test @AgentLoop func tasksUnderAClockWaitForItAndForNothingElse() async {
        await ManualClock().run { clock in
            let endless = Task { await withCheckedContinuation { (_: CheckedContinuation<Void, Never>) in } }
            let wait = Task { await endless.end(within: .seconds(3600)) }
            await clock.untilTimer(of: .seconds(3600))
            clock.advance(by: .seconds(3600))
            await wait.value
        }
    }

    /// So a test whose time limit has passed ends.
    @Test @AgentLoop func aWaitForATimerEndsWithItsTask() async {
        await ManualClock().run { clock in
            let wait = Task { await clock.untilTimer(of: .seconds(1)) }
            await Task.yield()
            wait.cancel()
            await wait.value
            // It begins when this one waits for it.
            let tooLate = Task { await clock.untilTimer(of: .seconds(1)) }
            tooLate.cancel()
            await tooLate.value
        }
    }

    @Test @AgentLoop func aSleepEndsWithItsTimeOrWithItsTask() async {
        await ManualClock().run { clock in
            let whole = Task { await AgentLoop.sleep(for: .seconds(3600)) }
            await clock.untilTimer(of: .seconds(3600))
            clock.advance(by: .seconds(3600))
            await whole.value
            let cut = Task { await AgentLoop.sleep(for: .seconds(3600)) }
            await clock.untilTimer(of: .seconds(3600))
            cut.cancel()
            await cut.value
            let never = Task { await AgentLoop.sleep(for: .seconds(3600)) }
            never.cancel()
            await never.value
        }
    }

    @Test @AgentLoop func whatAWatchBeginsStaysUnderTheClock() async throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        defer { close(writer) }
        let seen = await ManualClock(start: Instant(milliseconds: 7)).run { _ in
            await withCheckedContinuation { continuation in
                let watch = WatchBox()
                watch.watch = ReadWatch(fileDescriptor: reader) {
                    watch.watch?.cancel { close(reader) }
                    watch.watch = nil
                    continuation.resume(returning: Instant.now)
                }
                #expect(write(writer, [UInt8(1)], 1) == 1)
            }
        }
        #expect(seen == Instant(milliseconds: 7))
    }

    @Test @AgentLoop func twoClocksDoNotMoveEachOther() async {
        await ManualClock(start: Instant(milliseconds: 0)).run { first in
            await ManualClock(start: Instant(milliseconds: 0)).run { second in
                let timer = LoopTimer(after: .seconds(1)) { Issue.record("moved by another clock") }
                first.advance(by: .seconds(2))
                #expect(Instant.now == Instant(milliseconds: 0))
                #expect(first.now == Instant(milliseconds: 2000))
                withExtendedLifetime((timer, second)) {}
            }
        }
    }
}

@AgentLoop private final class WatchBox { var watch: ReadWatch? }

@AgentLoop private final class Ticker {
    private(set) var moments: [Instant] = []
    private var timer: LoopTimer?

    func start(every interval: Duration) {
        timer = LoopTimer(every: interval) { [weak self] in
            guard let self else { return }
            moments.append(.now)
            start(every: interval)
        }
    }
}

private final class Calls: Sendable {
    private let list = Mutex<[String]>([])
    var noted: [String] { list.withLock { $0 } }
    func record(_ call: String) { list.withLock { $0.append(call) } }
}
