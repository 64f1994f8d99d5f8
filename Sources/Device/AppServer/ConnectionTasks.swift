import NIOCore
import Synchronization

/// The tasks that serve the open connections.
///
/// They are not the children of one accepting task: a connection that still waited in its sequence when the server stops
/// would be dropped, and NIO traps on an asynchronous channel that nobody served. Here each has its task from the moment
/// it exists.
///
/// They run on the event loop that the connections are of: nothing is handed over to Swift's pool and back, which would
/// have threads of its own for it.
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

    /// Cancels every task, also those that are still to be started, and returns when all have ended.
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
