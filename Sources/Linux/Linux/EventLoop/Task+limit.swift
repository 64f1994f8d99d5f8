import AgentModel

extension Task where Success == Void, Failure == Never {
    /// Waits for the task's end, and no longer than this, whether the task can be cancelled or not.
    @AgentLoop
    public func end(within limit: Duration) async {
        await withCheckedContinuation { continuation in
            let wait = LimitedWait(continuation)
            wait.timer = LoopTimer(after: limit) { wait.end() }
            Task { @AgentLoop in
                await value
                wait.end()
            }
        }
    }
}

/// Somebody who waits for the first of two things.
@AgentLoop
private final class LimitedWait {
    private var continuation: CheckedContinuation<Void, Never>?
    var timer: LoopTimer?

    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }

    func end() {
        continuation?.resume()
        (continuation, timer) = (nil, nil)
    }
}
