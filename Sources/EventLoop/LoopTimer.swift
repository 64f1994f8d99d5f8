import Dispatch

/// Calls back once on the loop after a delay, unless it is cancelled or let go before.
@AgentLoop
public final class LoopTimer {
    // A dispatch source may be cancelled from anywhere, so also where the last reference goes.
    private nonisolated(unsafe) let source: any DispatchSourceTimer

    /// - Parameters:
    ///   - delay: counted in monotonic time; zero or less fires as soon as the loop is free.
    ///   - leeway: how much later the kernel may fire it to join it with other wake-ups.
    public init(
        after delay: Duration, leeway: Duration = .milliseconds(1), onFire: @escaping @AgentLoop @Sendable () -> Void
    ) {
        source = DispatchSource.makeTimerSource(queue: AgentLoop.queue)
        source.schedule(
            deadline: .now() + .nanoseconds(delay.wholeNanoseconds), leeway: .nanoseconds(leeway.wholeNanoseconds))
        source.setEventHandler { AgentLoop.assumeIsolated(onFire) }
        source.activate()
    }

    deinit { source.cancel() }

    public func cancel() { source.cancel() }
}

extension Duration {
    /// The duration in nanoseconds, not below zero and not above what a dispatch deadline can hold (a century and more).
    fileprivate var wholeNanoseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = Int(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? Int.max / 2 : min(product, Int.max / 2) + Int(attoseconds / 1_000_000_000)
    }
}
