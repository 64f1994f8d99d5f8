import AgentModel

/// The clock that every limit of time in this module is measured with.
struct ServerClock: Sendable {
    private let elapsed: @Sendable () -> Duration
    private let pause: @Sendable (Duration) async throws -> Void

    init(_ clock: any Clock<Duration>) {
        func measure<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
            let start = clock.now
            return { start.duration(to: clock.now) }
        }
        elapsed = measure(clock)
        pause = { try await clock.sleep(for: $0) }
    }

    var now: Instant { Instant(milliseconds: elapsed().milliseconds) }

    /// - Throws: `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws { try await pause(duration) }
}
