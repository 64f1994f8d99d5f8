import Linux

/// Keeps somebody told of changes until it is cancelled or let go.
@AgentLoop
public final class RouteFollowing {
    private weak var monitor: RouteMonitor?
    private let onChange: (RouteSubject) -> Void

    init(_ monitor: RouteMonitor, onChange: @escaping (RouteSubject) -> Void) {
        self.monitor = monitor
        self.onChange = onChange
    }

    isolated deinit { cancel() }

    public func cancel() {
        monitor?.forget(ObjectIdentifier(self))
        monitor = nil
    }

    func tell(_ subject: RouteSubject) { onChange(subject) }
}
