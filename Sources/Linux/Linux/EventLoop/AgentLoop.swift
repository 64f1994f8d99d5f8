/// The one thread of execution on which the agent decides and touches the radio.
///
/// Everything that is `@AgentLoop` runs there, one piece after the other, so the device's state needs no locks and an
/// event is handled completely before the next one starts. Nothing on it may block: whatever waits, waits in the
/// kernel (`ReadWatch`, `LoopTimer`) or in another executor.
@globalActor
public actor AgentLoop {
    public static let shared = AgentLoop()

    static let thread = LoopThread(name: "altnet.agent")
    private static let tasks = LoopTasks(thread)

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Self.thread.asUnownedSerialExecutor() }

    /// Begins a task of the loop that is there for small things which come again and again: wherever it waits, it goes on without
    /// another thread. Swift resumes an ordinary task in its pool first, and that hands it over.
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
