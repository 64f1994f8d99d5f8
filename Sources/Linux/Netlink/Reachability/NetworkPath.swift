import AgentModel

/// What there is between the device and a destination, at one moment.
public struct NetworkPath: Hashable, Sendable {
    public let flags: ReachabilityFlags
    /// The interface that packets leave by, with what carries it if it is a tunnel; nil while they would not leave.
    public let uplink: ActiveUplink?

    /// There is no way.
    public static let none = NetworkPath(flags: [], uplink: nil)

    /// Reachable, and, if a connection is required, one that is made without a person.
    public var isReachable: Bool { flags.isReachable }
}
