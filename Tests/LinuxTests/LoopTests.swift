import AgentModel
import Glibc
import Linux
import Testing

@Suite(.timeLimit(.minutes(10))) struct AgentLoopTests {
    @Test @AgentLoop func firesATimerOnce() async {
        await fired(after: .milliseconds(1))
    }

    @Test @AgentLoop func aCancelledTimerNeverFires() async {
        let cancelled = LoopTimer(after: .zero) { Issue.record("fired after it was cancelled") }
        cancelled.cancel()
        await fired(after: .milliseconds(5))
    }

    @Test @AgentLoop func aTimerThatAnotherOneCancelsNeverFires() async {
        let timers = Timers()
        timers.first = LoopTimer(after: .zero) { timers.second = nil }
        timers.second = LoopTimer(after: .zero) { Issue.record("fired after it was cancelled") }
        await fired(after: .milliseconds(5))
    }

    @Test @AgentLoop func aTimerForIntervalsFiresAtMultiplesOfThem() async {
        let interval = Duration.milliseconds(50)
        let start = Instant.now.milliseconds
        var timer: LoopTimer?
        await withCheckedContinuation { continuation in
            timer = LoopTimer(every: interval) { continuation.resume() }
        }
        timer?.cancel()
        #expect(Instant.now.milliseconds / interval.milliseconds > start / interval.milliseconds)
    }

    /// Swift resumes what waited elsewhere, and gives the loop what is to be done on it.
    @Test func isReachedFromOtherThreads() async {
        for _ in 0..<1000 { await visit() }
    }

    @Test @AgentLoop func aTaskOfTheLoopStaysOnItsThread() async {
        let thread = pthread_self()
        let resumed = await withCheckedContinuation { done in
            AgentLoop.begin {
                await withCheckedContinuation { waiting in Task { @AgentLoop in waiting.resume() } }
                done.resume(returning: await threadOfNoActor())
            }
        }
        #expect(resumed == thread)
    }

    @Test @AgentLoop func hearsOfReadableDescriptors() async throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        let (reader, writer) = (ends[0], ends[1])
        defer { close(writer) }
        var watch: ReadWatch?
        let received = await withCheckedContinuation { continuation in
            watch = ReadWatch(fileDescriptor: reader) {
                var byte: UInt8 = 0
                guard read(reader, &byte, 1) == 1 else { return }
                continuation.resume(returning: byte)
            }
            var byte: UInt8 = 42
            #expect(write(writer, &byte, 1) == 1)
        }
        #expect(received == 42)
        await withCheckedContinuation { continuation in watch?.cancel { continuation.resume() } }
        close(reader)
    }
}

@AgentLoop private func visit() { AgentLoop.shared.preconditionIsolated() }

@concurrent private func threadOfNoActor() async -> pthread_t { pthread_self() }

@AgentLoop private final class Timers {
    var first: LoopTimer?
    var second: LoopTimer?
}

/// Waits until a timer has fired.
@AgentLoop private func fired(after delay: Duration) async {
    var timer: LoopTimer?
    await withCheckedContinuation { continuation in
        timer = LoopTimer(after: delay) { continuation.resume() }
    }
    timer?.cancel()
}
