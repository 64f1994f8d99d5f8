import AgentModel

/// Calls back once on the agent's loop after a delay, unless it is cancelled or let go before.
@AgentLoop
public final class LoopTimer {
    private let source: any TimerSource
    private let number: RunQueue.Number

    /// - Parameters:
    ///   - delay: counted in monotonic time; zero or less fires as soon as the loop is free.
    ///   - leeway: how much later it may fire, together with whatever else wakes the loop.
    public init(
        after delay: Duration, leeway: Duration = .milliseconds(1), onFire: @escaping @AgentLoop @Sendable () -> Void
    ) {
        source = ManualClock.current ?? AgentLoop.thread
        number = source.call(after: delay, leeway: leeway) { AgentLoop.assumeIsolated(onFire) }
    }

    /// For what is done again and again: fires at the next multiple of the interval, counted from when the device was
    /// started, so that all that is done at such intervals is done at one time.
    public convenience init(every interval: Duration, onFire: @escaping @AgentLoop @Sendable () -> Void) {
        let milliseconds = max(interval.milliseconds, 1)
        self.init(after: .milliseconds(milliseconds - Instant.now.milliseconds % milliseconds), onFire: onFire)
    }

    deinit { source.cancel(number) }

    public func cancel() { source.cancel(number) }
}

/// Calls back on the agent's loop whenever a file descriptor has something to read, for as long as it is kept.
///
/// The descriptor stays the caller's: cancel the watch (or let it go) before closing it.
@AgentLoop
public final class ReadWatch {
    private let number: RunQueue.Number

    /// - Parameters:
    ///   - fileDescriptor: an open, non-blocking descriptor.
    ///   - onReadable: called again and again while unread data is left, and once more at the end of a stream.
    public init(fileDescriptor: Int32, onReadable: @escaping @AgentLoop @Sendable () -> Void) {
        let action = ManualClock.bound { AgentLoop.assumeIsolated(onReadable) }
        number = AgentLoop.thread.call(when: .readable, fileDescriptor, action)
    }

    deinit { AgentLoop.thread.cancel(number) }

    /// Ends the watch. When `onCancelled` runs, the descriptor is no longer in use and may be closed.
    public func cancel(onCancelled: (@AgentLoop @Sendable () -> Void)? = nil) {
        AgentLoop.thread.cancel(number)
        guard let onCancelled else { return }
        // Later: this may be in the middle of what is called when there is something to read.
        AgentLoop.thread.perform { AgentLoop.assumeIsolated(onCancelled) }
    }
}

extension Task where Success == Void, Failure == Never {
    /// Waits for the task's end, and no longer than this, whether the task can be cancelled or not.
    @AgentLoop
    public func end(within limit: Duration) async {
        let wait = LimitedWait()
        await withCheckedContinuation { continuation in
            wait.begin(continuation, limit)
            AgentLoop.begin {
                await value
                wait.end()
            }
        }
    }
}

extension AgentLoop {
    /// Waits by the loop's clock, and no longer where the task is cancelled.
    @AgentLoop
    public static func sleep(for duration: Duration) async {
        let wait = LimitedWait()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // What is cancelled from here on ends the wait later on this loop.
                guard !Task.isCancelled else { return continuation.resume() }
                wait.begin(continuation, duration)
            }
        } onCancel: {
            thread.perform { assumeIsolated { wait.end() } }
        }
    }
}

/// A wait for the first of two things.
@AgentLoop
private final class LimitedWait {
    private var continuation: CheckedContinuation<Void, Never>?
    private var timer: LoopTimer?

    func begin(_ continuation: CheckedContinuation<Void, Never>, _ limit: Duration) {
        self.continuation = continuation
        timer = LoopTimer(after: limit) { self.end() }
    }

    func end() {
        continuation?.resume()
        (continuation, timer) = (nil, nil)
    }
}
