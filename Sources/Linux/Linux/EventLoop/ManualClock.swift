import AgentModel
import Glibc
import Synchronization

extension Instant {
    /// Current time of `CLOCK_BOOTTIME` in milliseconds, monotonic and including sleep. The kernel uses the same clock
    /// for scan results. Under a ``ManualClock``, returns the time of that clock.
    public static var now: Instant { ManualClock.current?.now ?? ofKernel }

    fileprivate static var ofKernel: Instant {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

/// Source of timers: the loop's thread, or a test's clock.
protocol TimerSource: AnyObject, Sendable {
    /// Calls `action` once on the loop.
    /// - Parameters:
    ///   - delay: monotonic time without sleep.
    ///   - leeway: maximum extra delay, to share a wake-up of the loop.
    func call(after delay: Duration, leeway: Duration, _ action: @escaping @Sendable () -> Void) -> RunQueue.Number

    /// Cancels a timer. After a call on the loop, `action` is never called.
    func cancel(_ number: RunQueue.Number)
}

/// Clock that a test moves. It drives timers of the agent's loop and `Instant.now`.
///
/// ```
/// try await ManualClock().run { clock in
///     let scan = Task { try await radio.scan(request) }
///     await clock.untilTimer(of: .seconds(10))
///     clock.advance(by: .seconds(10))
///     await #expect(throws: NetlinkError.self) { try await scan.value }
/// }
/// ```
///
/// Tasks, timers and watches started under a clock stay under it. Tests with separate clocks can run in parallel.
public final class ManualClock: Sendable {
    @TaskLocal static var current: ManualClock?

    private struct State {
        var queue = RunQueue()
        /// Creation time of this clock, by the kernel's clock without sleep.
        let start = SuspendingClock.now
        var passed = Duration.zero
        var waiting: [Waiter] = []
        var lastWaiter = 0

        var now: SuspendingClock.Instant { start + passed }
    }

    private struct Waiter {
        let number: Int
        let delay: Duration
        let continuation: CheckedContinuation<Void, Never>
    }

    private let state = Mutex(State())
    private let start: Instant

    /// - Parameter start: initial time; nil: the kernel's time.
    public init(start: Instant? = nil) { self.start = start ?? .ofKernel }

    public var now: Instant { start + state.withLock { $0.passed } }

    /// Runs `body` under this clock, with all tasks, timers and watches that it starts.
    @AgentLoop
    public func run<Value: Sendable>(
        _ body: @AgentLoop (ManualClock) async throws -> Value
    ) async rethrows -> Value {
        try await Self.$current.withValue(self) { try await body(self) }
    }

    /// Moves the time forward, and runs due timers in order, each at its own time.
    @AgentLoop
    public func advance(by duration: Duration) {
        let end = state.withLock { $0.passed } + duration
        while let action = next(until: end) { action() }
        state.withLock { $0.passed = end }
    }

    private func next(until end: Duration) -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard let due = state.queue.nextDue, due <= state.start + end else { return nil }
            state.passed = max(state.passed, due - state.start)
            return state.queue.dequeueDue(at: state.now, isQuiet: true)
        }
    }

    /// Waits until a timer is due exactly `delay` after now, or the task is cancelled.
    @AgentLoop
    public func untilTimer(of delay: Duration) async {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    // Checks this in the lock, so that a later cancellation finds the waiter.
                    let goesOn = Task.isCancelled || state.queue.dueTimes.contains(state.now + delay)
                    if !goesOn {
                        state.waiting.append(Waiter(number: number, delay: delay, continuation: continuation))
                    }
                    return goesOn
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume()
        }
    }

    static func bound(_ action: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let clock = current else { return action }
        return { $current.withValue(clock) { action() } }
    }
}

extension ManualClock: TimerSource {
    func call(after delay: Duration, leeway: Duration, _ action: @escaping @Sendable () -> Void) -> RunQueue.Number {
        let delay = max(delay, .zero)
        let (number, waiters) = state.withLock { state in
            let due = state.now + delay
            let waiters = state.waiting.filter { $0.delay == delay }
            state.waiting.removeAll { $0.delay == delay }
            return (state.queue.add(due: due, latest: due, Self.bound(action)), waiters)
        }
        for waiter in waiters { waiter.continuation.resume() }
        return number
    }

    func cancel(_ number: RunQueue.Number) { state.withLock { $0.queue.remove(number) } }
}
