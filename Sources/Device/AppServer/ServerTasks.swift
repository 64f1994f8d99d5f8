import AgentModel
import NIOCore
import Synchronization

/// Tasks that serve the open connections, on their event loops.
///
/// Each connection has its own task from the start: NIO traps on an asynchronous channel that is never served.
final class ConnectionTasks: Sendable {
    private struct State {
        var lastTicket = 0
        var tasks: [Int: Task<Void, Never>] = [:]
        var isStopping = false
    }

    private let executor: EventLoopTasks
    private let state = Mutex(State())

    init(on loop: any EventLoop) { executor = EventLoopTasks(loop) }

    func start(_ serve: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.lastTicket += 1
            let ticket = state.lastTicket
            let task = Task(executorPreference: executor) {
                await serve()
                self.state.withLock { _ = $0.tasks.removeValue(forKey: ticket) }
            }
            if state.isStopping { task.cancel() }
            state.tasks[ticket] = task
        }
    }

    /// Cancels every task, also future ones, and returns when all have ended.
    func stop() async {
        while true {
            let tasks = state.withLock { state in
                state.isStopping = true
                return Array(state.tasks.values)
            }
            guard !tasks.isEmpty else { return }
            for task in tasks { task.cancel() }
            for task in tasks { await task.value }
        }
    }
}

/// Runs tasks on an event loop. Tasks must not block, and must end before the loop does.
package final class EventLoopTasks: TaskExecutor {
    private let loop: any EventLoop

    package init(_ loop: any EventLoop) { self.loop = loop }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

final class ConnectionCounter: Sendable {
    private let count = Mutex(0)

    /// - Returns: true if there was room.
    func enter(limit: Int) -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    /// Leaves a place. Call this once for each successful `enter`.
    func leave() { count.withLock { $0 -= 1 } }
}

/// The clock for all time limits of this module.
package struct ServerClock: Sendable {
    private let elapsed: @Sendable () -> Duration
    private let pause: @Sendable (Duration) async throws -> Void

    package init(_ clock: any Clock<Duration>) {
        func measure<C: Clock>(_ clock: C) -> @Sendable () -> Duration where C.Duration == Duration {
            let start = clock.now
            return { start.duration(to: clock.now) }
        }
        elapsed = measure(clock)
        pause = { try await clock.sleep(for: $0) }
    }

    package var now: Instant { Instant(milliseconds: elapsed().milliseconds) }

    /// - Throws: `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws { try await pause(duration) }
}
