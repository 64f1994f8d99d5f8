import Synchronization

/// A value that the parts of a test change, and what tests wait for in it: each change is an event.
package final class Observed<Value: Sendable>: Sendable {
    private struct Waiter {
        let id: Int
        /// Takes what is waited for out of the value, and returns how the wait goes on; nil where it is not there yet.
        let attempt: @Sendable (inout Value) -> (@Sendable () -> Void)?
        let fail: @Sendable (any Error) -> Void
    }

    private struct State {
        var value: Value
        var lastID = 0
        /// The oldest first.
        var waiters: [Waiter] = []
    }

    private let state: Mutex<State>

    package init(_ value: Value) { state = Mutex(State(value: value)) }

    package var value: Value { state.withLock { $0.value } }

    /// Changes the value, and ends the waits for what it has become.
    @discardableResult
    package func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, resumptions) = state.withLock { state in
            let result = body(&state.value)
            var resumptions: [@Sendable () -> Void] = []
            state.waiters.removeAll { waiter in
                guard let resume = waiter.attempt(&state.value) else { return false }
                resumptions.append(resume)
                return true
            }
            return (result, resumptions)
        }
        for resume in resumptions { resume() }
        return result
    }

    /// Waits until `attempt` returns something, which may change the value.
    /// - Parameters:
    ///   - what: for the error.
    ///   - limit: of real time, so that a test that waits for what does not come fails instead of hanging.
    /// - Throws: `Overdue`; `CancellationError` where the task is cancelled.
    package func next<Result: Sendable>(
        _ what: String, within limit: Duration = .seconds(600),
        _ attempt: @escaping @Sendable (inout Value) -> Result?
    ) async throws -> Result {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let deadline = Task {
            try await Task.sleep(for: limit)
            giveUp(id, Overdue(description: "not within \(limit): \(what)"))
        }
        defer { deadline.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let waiter = Waiter(
                    id: id,
                    attempt: { value in
                        guard let result = attempt(&value) else { return nil }
                        return { continuation.resume(returning: result) }
                    },
                    fail: { continuation.resume(throwing: $0) })
                let end = state.withLock { state -> (@Sendable () -> Void)? in
                    if let resume = waiter.attempt(&state.value) { return resume }
                    if Task.isCancelled { return { waiter.fail(CancellationError()) } }
                    state.waiters.append(waiter)
                    return nil
                }
                end?()
            }
        } onCancel: {
            giveUp(id, CancellationError())
        }
    }

    /// Waits until the value is so.
    /// - Throws: as `take` does.
    package func wait(
        _ what: String, within limit: Duration = .seconds(600), until isSo: @escaping @Sendable (Value) -> Bool
    ) async throws {
        try await next(what, within: limit) { isSo($0) ? () : nil }
    }

    private func giveUp(_ id: Int, _ error: any Error) {
        let waiter = state.withLock { state in
            state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
        }
        waiter?.fail(error)
    }
}

package struct Overdue: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
}

/// Returns once the condition is met. For conditions that no event tells of: it looks every 2 ms.
/// - Parameters:
///   - what: for the error.
///   - limit: of real time.
/// - Throws: `Overdue`; `CancellationError` where the task is cancelled.
package func eventually(
    _ what: String, within limit: Duration = .seconds(600), isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else { throw Overdue(description: "not within \(limit): \(what)") }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// Holds tasks up until it is opened.
package final class Gate: Sendable {
    private let state = Observed((isOpen: false, waiting: 0))

    package init() {}

    /// Returns once the gate is open, or the task is cancelled.
    package func pass() async {
        state.change { $0.waiting += 1 }
        try? await state.wait("the gate is open") { $0.isOpen }
        state.change { $0.waiting -= 1 }
    }

    /// Returns once a task waits.
    package func isReached() async throws {
        try await state.wait("the gate is reached") { $0.waiting > 0 }
    }

    package func open() { state.change { $0.isOpen = true } }
}

/// Never answers: returns once the task is cancelled.
package func untilCancelled() async {
    let (nothing, end) = AsyncStream.makeStream(of: Void.self)
    for await _ in nothing {}
    withExtendedLifetime(end) {}
}
