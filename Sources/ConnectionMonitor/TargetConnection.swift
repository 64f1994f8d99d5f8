import AgentModel
import InterfaceNetwork
import NIOCore
import Synchronization

/// Keeps a connection to a target, and tells how it stands.
public final class TargetConnection: Sendable {
    public let target: Target
    private let state: Mutex<ConnectionStatus>

    public init(
        _ target: Target, trust: TargetTrust? = nil, keepAlive: KeepAlive = KeepAlive(),
        reconnection: Reconnection = Reconnection(), on group: any EventLoopGroup, now: @escaping @Sendable () -> Instant,
        onChange: @escaping @Sendable (ConnectionStatus) -> Void,
        onDoubt: @escaping @Sendable (ReachProblem) -> Void
    ) {
        self.target = target
        state = Mutex(ConnectionStatus(state: .setup, since: now()))
    }

    public var status: ConnectionStatus { state.withLock { $0 } }
    public var lastHeard: Instant? { get async { nil } }

    public func start(through network: InterfaceNetwork) {}
    public func restart(through network: InterfaceNetwork) {}
    public func suspend() {}
    public func cancel() {}
    public func probe(within limit: Duration, freshness: Duration? = nil) async -> ReachProblem? { nil }
}
