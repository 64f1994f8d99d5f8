/// The loop on which the agent decides and controls the radio.
///
/// `@AgentLoop` code runs serially, so the device's state needs no locks and each event completes before the next.
/// Never block the loop: wait in the kernel (`ReadWatch`, `LoopTimer`), on the ``DiskLoop`` or on another executor.
@globalActor
public actor AgentLoop {
    public static let shared = AgentLoop()

    static let thread = LoopThread(name: "altnet.agent")
    private static let tasks = LoopTasks(thread)

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.thread.asUnownedSerialExecutor() }

    /// Starts a task that stays on the loop's thread. Without this executor preference, Swift resumes a task in its
    /// pool first, after each wait.
    @discardableResult
    public static nonisolated func begin(
        _ operation: @escaping @AgentLoop @Sendable () async -> Void
    ) -> Task<Void, Never> {
        Task(executorPreference: tasks) { await operation() }
    }

    /// Runs `operation` at once; traps if the caller is not on the loop. Use it in callbacks of C libraries and of the
    /// thread, whose isolation the compiler cannot see.
    public static nonisolated func assumeIsolated(_ operation: @escaping @AgentLoop () -> Void) {
        shared.preconditionIsolated("called outside the agent's loop")
        // `MainActor.assumeIsolated` does the same: only the type changes after the check.
        unsafeBitCast(operation, to: (() -> Void).self)()
    }
}

/// Loop for slow work: the key file, the recording and the log. Its jobs run in order and never delay a decision.
@globalActor
public actor DiskLoop {
    public static let shared = DiskLoop()

    static let thread = LoopThread(name: "altnet.disk")

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.thread.asUnownedSerialExecutor() }

    /// Runs work on the disk loop, after all work added earlier. Returns at once.
    public static nonisolated func perform(_ work: @escaping @Sendable () -> Void) { thread.perform(work) }
}
