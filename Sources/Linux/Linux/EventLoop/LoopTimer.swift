import AgentModel

/// Calls back once on the loop after a delay, unless it is cancelled or let go before.
@AgentLoop
public final class LoopTimer {
    private let number: RunQueue.Number

    /// - Parameters:
    ///   - delay: counted in monotonic time; zero or less fires as soon as the loop is free.
    ///   - leeway: how much later it may fire, together with whatever else wakes the loop.
    public init(
        after delay: Duration, leeway: Duration = .milliseconds(1), onFire: @escaping @AgentLoop @Sendable () -> Void
    ) {
        number = AgentLoop.thread.call(after: delay, leeway: leeway) { AgentLoop.assumeIsolated(onFire) }
    }

    /// For what is done again and again: fires at the next multiple of the interval, counted from when the device was started,
    /// so that all that is done at such intervals is done at one time.
    public convenience init(every interval: Duration, onFire: @escaping @AgentLoop @Sendable () -> Void) {
        let milliseconds = max(interval.milliseconds, 1)
        self.init(after: .milliseconds(milliseconds - Instant.now.milliseconds % milliseconds), onFire: onFire)
    }

    deinit { AgentLoop.thread.cancel(number) }

    public func cancel() { AgentLoop.thread.cancel(number) }
}
