import CLinux

/// One thread for all tasks that prefer no executor, in the place of Dispatch's threads.
///
/// Dispatch makes and ends threads as tasks come, and looks at them every second for as long as the process lasts
/// (libdispatch, `_dispatch_workq_monitor_pools`): 60 wake-ups in a minute in which nothing happens.
package enum TaskThread {
    private static let thread = LoopThread(name: "altnet.tasks")

    /// Takes over from Dispatch. Call it before the first task begins.
    package static func takeOver() {
        tasks_redirect { job in
            guard let job else { return }
            let pending = UncheckedJob(job: job)
            TaskThread.thread.perform { tasks_run(pending.job) }
        }
    }

    /// A job of Swift's runtime, which is run once.
    private struct UncheckedJob: @unchecked Sendable {
        let job: UnsafeMutableRawPointer
    }
}
