/// The loop on which the agent decides and touches the radio.
///
/// Everything that is `@AgentLoop` runs there, one piece after the other, so the device's state needs no locks and an
/// event is handled completely before the next one starts. Nothing on it may block: it waits in the kernel
/// (`ReadWatch`, `LoopTimer`), on the ``DiskLoop`` or on another executor.
@globalActor
public actor AgentLoop {
    public static let shared = AgentLoop()

    static let thread = LoopThread(name: "altnet.agent")
    private static let tasks = LoopTasks(thread)

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.thread.asUnownedSerialExecutor() }

    /// Begins a task of the loop that goes on without another thread wherever it waits. Swift resumes a task without
    /// such a preference in its pool first, which then hands it over.
    @discardableResult
    public static nonisolated func begin(
        _ operation: @escaping @AgentLoop @Sendable () async -> Void
    ) -> Task<Void, Never> {
        Task(executorPreference: tasks) { await operation() }
    }

    /// Runs `operation` at once, trapping when the caller is not on the loop already: for callbacks of C libraries and
    /// of the thread, which the compiler cannot see to be on it.
    public static nonisolated func assumeIsolated<Value: Sendable>(
        _ operation: @AgentLoop () throws -> Value
    ) rethrows -> Value {
        shared.preconditionIsolated("called off the agent's loop")
        // The same step that `MainActor.assumeIsolated` takes: the isolation was checked, so only the type changes.
        return try withoutActuallyEscaping(operation) { escaping in
            try unsafeBitCast(escaping, to: (() throws -> Value).self)()
        }
    }
}

/// The second loop: the key file, the recording and the log, which may take as long as a disk takes, and never hold up
/// a decision. Its jobs run in order.
@globalActor
public actor DiskLoop {
    public static let shared = DiskLoop()

    static let thread = LoopThread(name: "altnet.disk")

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.thread.asUnownedSerialExecutor() }

    /// Has work done after all that was given before.
    public static nonisolated func perform(_ work: @escaping @Sendable () -> Void) { thread.perform(work) }
}
