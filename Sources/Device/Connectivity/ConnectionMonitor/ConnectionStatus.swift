import AgentModel

/// How it stands with a target.
public struct ConnectionStatus: Sendable, Equatable {
    public var state: ConnectionState
    /// Why, where the state is `waiting` or `failed`.
    public var reason: ReachProblem?
    /// Whether it is ready at an address of the internet: whoever stands in between may have led the name to the house, or to
    /// the device itself.
    public var isFar: Bool
    /// When `state` was entered, on the clock that the connection was given.
    public var since: Instant

    public var isOnline: Bool { state == .ready }

    public init(state: ConnectionState, reason: ReachProblem? = nil, isFar: Bool = false, since: Instant) {
        self.state = state
        self.reason = reason
        self.isFar = isFar
        self.since = since
    }
}
