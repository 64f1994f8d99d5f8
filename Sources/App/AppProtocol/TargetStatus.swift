import AgentModel

/// How it stands with one of the device's own servers: also the body of `target.changed`.
public struct TargetStatus: Sendable, Equatable {
    /// As in the settings.
    public var name: String
    public var host: String
    public var port: Int
    public var state: ConnectionState
    /// Why, where the state is `waiting` or `failed`.
    public var reason: ReachProblem?
    /// When `state` was entered.
    public var since: Timestamp

    public var isOnline: Bool { state == .ready }

    public init(
        name: String, host: String, port: Int, state: ConnectionState, reason: ReachProblem? = nil, since: Timestamp
    ) {
        self.name = name
        self.host = host
        self.port = port
        self.state = state
        self.reason = reason
        self.since = since
    }
}
