import CLinux
import Glibc
import Synchronization

/// A thread that runs an actor's jobs serially. Between jobs it waits in the kernel for jobs, descriptors and
/// deadlines. The thread never ends.
///
/// A dispatch queue would use two threads: one waits and wakes another, which ends after five idle seconds.
final class LoopThread: SerialExecutor, TimerSource {
    private let queue = Mutex(RunQueue())
    private let wakeup = Wakeup()
    /// Thread ID of pthread_self(3); 0 until the thread runs.
    private let thread = Atomic<pthread_t>(0)

    /// - Parameter name: at most 15 bytes (pthread_setname_np(3)).
    init(name: String) { QuietThread.start(name) { self.run() } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        change { $0.add(.isolated(job)) }
    }

    fileprivate func enqueue(_ job: UnownedJob, of tasks: LoopTasks) { change { $0.add(.preferring(job, tasks)) } }

    /// Calls `work` on the thread, after all earlier jobs.
    func perform(_ work: @escaping @Sendable () -> Void) { change { $0.add(.call(work)) } }

    func checkIsolated() { precondition(isRunningHere, "not on the loop's thread") }

    private var isRunningHere: Bool { pthread_equal(pthread_self(), thread.load(ordering: .relaxed)) != 0 }

    // MARK: Descriptors and timers

    /// Longest delay: a century.
    private static let longestDelay = Duration.seconds(3_155_760_000)

    func call(
        after delay: Duration, leeway: Duration, _ action: @escaping @Sendable () -> Void
    ) -> RunQueue.Number {
        let due = SuspendingClock.now + min(max(delay, .zero), Self.longestDelay)
        return change { $0.add(due: due, latest: due + leeway, action) }
    }

    /// Calls `action` on the thread repeatedly while the descriptor is ready.
    /// - Returns: number for `cancel`.
    func call(
        when readiness: Readiness, _ descriptor: Int32, _ action: @escaping @Sendable () -> Void
    ) -> RunQueue.Number {
        change { $0.add(descriptor: descriptor, readiness, action) }
    }

    func cancel(_ number: RunQueue.Number) { queue.withLock { $0.remove(number) } }

    private func change<Value: Sendable>(_ body: (inout RunQueue) -> Value) -> Value {
        let (value, isWaiting) = queue.withLock { queue in
            defer { queue.isWaiting = false }
            return (body(&queue), queue.isWaiting)
        }
        if isWaiting { wakeup.ring() }
        return value
    }

    // MARK: On the thread

    private func run() -> Never {
        thread.store(pthread_self(), ordering: .relaxed)
        while true {
            for job in queue.withLock({ $0.drainJobs() }) {
                switch job {
                case .isolated(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .preferring(let job, let tasks):
                    job.runSynchronously(
                        isolatedTo: asUnownedSerialExecutor(), taskExecutor: tasks.asUnownedTaskExecutor())
                case .call(let work): work()
                }
            }
            let ready = wait()
            for number in ready { queue.withLock { $0.action(of: number) }?() }
            // Events before a deadline are handled first, within the timer's leeway. Timers run one at a time: an
            // action may cancel the next.
            while let action = queue.withLock({ $0.dequeueDue(at: .now, isQuiet: ready.isEmpty) }) { action() }
        }
    }

    /// - Returns: numbers of the ready descriptors.
    private func wait() -> [RunQueue.Number] {
        let (watches, patience) = queue.withLock { queue in
            queue.isWaiting = true
            return (queue.watches, queue.patience(at: .now))
        }
        defer { queue.withLock { $0.isWaiting = false } }
        let list = watches.map { ($0.descriptor, $0.readiness) } + [(wakeup.descriptor, .readable)]
        let isReady = Readiness.wait(for: list, within: patience)
        if isReady[watches.count] { wakeup.silence() }
        return zip(watches, isReady).filter(\.1).map(\.0.number)
    }
}

/// Executor of tasks that prefer a loop's thread. Swift queues other tasks at each call to the loop's actor, even if
/// they are on its thread.
final class LoopTasks: TaskExecutor {
    private let thread: LoopThread

    init(_ thread: LoopThread) { self.thread = thread }

    func enqueue(_ job: consuming ExecutorJob) { thread.enqueue(UnownedJob(job), of: self) }
}

/// Ends another thread's wait (eventfd(2)).
package final class Wakeup: Sendable {
    package let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))

    package init() { precondition(descriptor >= 0, "no eventfd: error \(errno)") }

    deinit { close(descriptor) }

    package func ring() { eventfd_write(descriptor, 1) }

    package func silence() {
        var rings: eventfd_t = 0
        eventfd_read(descriptor, &rings)
    }

    /// Waits for `ring()`, at most `limit`; nil waits forever.
    /// - Returns: true if `ring()` was called.
    package func wait(within limit: Duration?) -> Bool { Readiness.readable.wait(on: descriptor, within: limit) }
}
