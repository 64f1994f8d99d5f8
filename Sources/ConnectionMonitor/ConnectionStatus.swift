import AgentModel

/// How it stands with a target.
public struct ConnectionStatus: Sendable, Equatable {
    public var state: ConnectionState
    /// Why, where the state is `waiting` or `failed`.
    public var reason: ReachProblem?
    /// When `state` was entered, on the clock that the connection was given.
    public var since: Instant

    public var isOnline: Bool { state == .ready }

    public init(state: ConnectionState, reason: ReachProblem? = nil, since: Instant) {
        self.state = state
        self.reason = reason
        self.since = since
    }
}
