import CLinux
import Synchronization

/// One thread for all tasks that prefer no executor. Replaces Dispatch's threads.
///
/// Dispatch starts and ends threads as tasks come. After the first one, it checks its threads every second
/// (libdispatch, `_dispatch_workq_monitor_pools`), which causes 60 wake-ups in an idle minute.
package enum TaskThread {
    fileprivate static let thread = LoopThread(name: "altnet.tasks")

    /// Takes over from Dispatch. Call this before the first task begins.
    package static func install() {
        tasks_redirect { job in
            guard let job else { return }
            let pending = UncheckedJob(job: job)
            TaskThread.thread.perform { tasks_run(pending.job) }
        }
    }

    /// A job of Swift's runtime, which runs once.
    private struct UncheckedJob: @unchecked Sendable {
        let job: UnsafeMutableRawPointer
    }
}

/// A clock that sleeps on ``TaskThread``. Swift's clocks sleep on Dispatch's threads.
package struct TaskClock: Clock {
    package init() {}

    package var now: SuspendingClock.Instant { .now }
    package var minimumResolution: Duration { SuspendingClock().minimumResolution }

    /// - Throws: `CancellationError`
    package func sleep(until deadline: SuspendingClock.Instant, tolerance: Duration?) async throws {
        let wait = Wait()
        await withTaskCancellationHandler {
            await withCheckedContinuation { wait.begin($0, for: deadline - .now, tolerance ?? .zero) }
        } onCancel: {
            wait.end()
        }
        try Task.checkCancellation()
    }

    private final class Wait: Sendable {
        private enum State: Sendable {
            case new
            case waiting(CheckedContinuation<Void, Never>, RunQueue.Number)
            case over
        }

        private let state = Mutex(State.new)

        func begin(_ continuation: CheckedContinuation<Void, Never>, for time: Duration, _ tolerance: Duration) {
            state.withLock { state in
                guard case .new = state else { return continuation.resume() }
                let number = TaskThread.thread.call(after: time, leeway: tolerance) { self.end() }
                state = .waiting(continuation, number)
            }
        }

        func end() {
            let last = state.withLock { state in
                defer { state = .over }
                return state
            }
            guard case .waiting(let continuation, let number) = last else { return }
            TaskThread.thread.cancel(number)
            continuation.resume()
        }
    }
}
