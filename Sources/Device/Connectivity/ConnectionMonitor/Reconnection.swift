/// When it is tried again.
public struct Reconnection: Sendable, Hashable {
    /// The longest first wait, doubling up to the last; each is cut at random down to nothing, so that a house full of
    /// devices that lost the same server does not come back in one moment.
    public var first = Duration.seconds(1)
    public var last = Duration.seconds(60)
    /// The same for a server that ends every connection soon: it is ready as long as it lets the device in.
    public var lastWhileReady = Duration.seconds(30)
    /// A connection that lasted so long was a good one: the next wait is the first one again.
    public var settled = Duration.seconds(10)
    /// One attempt: name, connection, keys, first answer.
    public var limit = Duration.seconds(10)

    public init() {}
}
