import AgentModel

/// When it is tried again.
public struct Reconnection: Sendable, Hashable {
    /// The longest waits; each is cut at random down to nothing.
    public var waits = BackOff(first: .seconds(1), last: .seconds(60))
    /// The same for a server that ends every connection soon: it is ready as long as it lets the device in.
    public var lastWhileReady = Duration.seconds(30)
    /// A connection that lasted so long was a good one: the next wait is the first one again.
    public var settled = Duration.seconds(10)
    /// One attempt: name, connection, keys, first answer.
    public var limit = Duration.seconds(10)

    public init() {}
}
