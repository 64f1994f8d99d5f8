import Testing

@testable import Linux

@Suite(.timeLimit(.minutes(10))) struct TaskClockTests {
    private let clock = TaskClock()

    @Test func sleepsUntilTheDeadline() async throws {
        let start = clock.now
        try await clock.sleep(for: .milliseconds(2))
        #expect(start.duration(to: clock.now) >= .milliseconds(2))
        try await clock.sleep(until: start, tolerance: nil)
    }

    @Test func cancellationEndsASleep() async {
        let asleep = Task { [clock] in try await clock.sleep(for: .seconds(3600)) }
        asleep.cancel()
        await #expect(throws: CancellationError.self) { try await asleep.value }
    }
}
