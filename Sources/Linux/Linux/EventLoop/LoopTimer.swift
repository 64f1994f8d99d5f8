import AgentModel

/// Calls back once on the agent's loop after a delay, unless cancelled or deallocated before.
@AgentLoop
public final class LoopTimer {
    private let source: any TimerSource
    private let number: RunQueue.Number

    /// - Parameters:
    ///   - delay: monotonic time without sleep; zero or less fires as soon as the loop is free.
    ///   - leeway: maximum extra delay, to share a wake-up of the loop.
    public init(
        after delay: Duration, leeway: Duration = .milliseconds(1), onFire: @escaping @AgentLoop @Sendable () -> Void
    ) {
        source = ManualClock.current ?? AgentLoop.thread
        number = source.call(after: delay, leeway: leeway) { AgentLoop.assumeIsolated(onFire) }
    }

    /// Creates a timer that fires at the next multiple of the interval since the device's start. Timers with equal
    /// intervals share one wake-up.
    public convenience init(every interval: Duration, onFire: @escaping @AgentLoop @Sendable () -> Void) {
        let milliseconds = max(interval.milliseconds, 1)
        self.init(after: .milliseconds(milliseconds - Instant.now.milliseconds % milliseconds), onFire: onFire)
    }

    deinit { source.cancel(number) }

    /// Stops the timer. It does not fire after this call.
    public func cancel() { source.cancel(number) }
}

/// Calls back on the agent's loop while a file descriptor is readable.
///
/// The caller owns the descriptor. Cancel or release the watch before closing it.
@AgentLoop
public final class ReadWatch {
    private let number: RunQueue.Number

    /// - Parameters:
    ///   - fileDescriptor: an open, non-blocking descriptor.
    ///   - onReadable: called repeatedly while unread data is left, and at the end of a stream.
    public init(fileDescriptor: Int32, onReadable: @escaping @AgentLoop @Sendable () -> Void) {
        let action = ManualClock.bound { AgentLoop.assumeIsolated(onReadable) }
        number = AgentLoop.thread.call(when: .readable, fileDescriptor, action)
    }

    deinit { AgentLoop.thread.cancel(number) }

    /// Ends the watch.
    /// - Parameter onCancelled: called on the loop once the descriptor is unused and may be closed.
    public func cancel(onCancelled: (@AgentLoop @Sendable () -> Void)? = nil) {
        AgentLoop.thread.cancel(number)
        guard let onCancelled else { return }
        // Deferred, because the caller may be the watch's own action.
        AgentLoop.thread.perform { AgentLoop.assumeIsolated(onCancelled) }
    }
}

extension Task where Success == Void, Failure == Never {
    /// Waits for the task's end, at most `limit`, even if the task ignores cancellation.
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
    /// Sleeps on the loop's clock. Returns early if the task is cancelled.
    @AgentLoop
    public static func sleep(for duration: Duration) async {
        let wait = LimitedWait()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // After this check, a cancellation ends the wait later on this loop.
                guard !Task.isCancelled else { return continuation.resume() }
                wait.begin(continuation, duration)
            }
        } onCancel: {
            thread.perform { assumeIsolated { wait.end() } }
        }
    }
}

/// A wait that ends at `end()` or at its time limit.
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
