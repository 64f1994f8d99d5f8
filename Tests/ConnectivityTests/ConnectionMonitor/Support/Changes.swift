import AgentModel
import Connectivity
import NIOCore
import Synchronization

/// What a connection told, in its order.
enum Change: Equatable {
    case now(ConnectionState, ReachProblem?)
    case doubt(ReachProblem)

    static let preparing = now(.preparing, nil)
    static let ready = now(.ready, nil)
    static func waiting(_ reason: ReachProblem) -> Change { now(.waiting, reason) }
    static func failed(_ reason: ReachProblem) -> Change { now(.failed, reason) }
}

struct NothingHappened: Error {}

/// Collects what is told, and lets one test wait for each change.
final class Changes: Sendable {
    private struct State {
        var told: [Change] = []
        var waiter: CheckedContinuation<Change, any Error>?
    }

    private let state = Mutex(State())

    func tell(_ change: Change) {
        let waiter = state.withLock { state -> CheckedContinuation<Change, any Error>? in
            guard let waiter = state.waiter else {
                state.told.append(change)
                return nil
            }
            state.waiter = nil
            return waiter
        }
        waiter?.resume(returning: change)
    }

    /// The next change, in the order in which they were told.
    func next(within limit: Duration = .seconds(30)) async throws -> Change {
        let deadline = Task {
            try await Task.sleep(for: limit)
            take()?.resume(throwing: NothingHappened())
        }
        defer { deadline.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            let change = state.withLock { state -> Change? in
                guard state.told.isEmpty else { return state.told.removeFirst() }
                state.waiter = continuation
                return nil
            }
            if let change { continuation.resume(returning: change) }
        }
    }

    /// What was told and nobody has asked for.
    var unread: [Change] { state.withLock { $0.told } }

    private func take() -> CheckedContinuation<Change, any Error>? {
        state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
    }
}
