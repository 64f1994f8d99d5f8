/// When a connection on which nothing is said is asked whether it still lives.
public struct KeepAlive: Sendable, Hashable {
    /// The kernel asks after so much silence (tcp(7), `TCP_KEEPIDLE`).
    public var idle = Duration.seconds(4)
    /// And again, if there is no answer (`TCP_KEEPINTVL`).
    public var interval = Duration.seconds(1)
    /// So often, before the connection is given up (`TCP_KEEPCNT`).
    public var count = 2
    /// A server that is spoken to (`http`, `mqtt`) is asked this often, and has so long to answer: that shows whether the
    /// program still runs, and not only its kernel.
    public var application = Duration.seconds(30)
    public var applicationLimit = Duration.seconds(5)

    public init() {}

    /// - Parameter idle: whole seconds, 1 to 32767 (tcp(7)).
    public init(idle: Duration) { self.idle = idle }

    /// A path that died is noticed so long after the last word from the other side.
    public var detection: Duration { idle + interval * count }
    /// What was heard so lately counts as an answer: while the path lives that is always so, unless silence may last longer
    /// than whoever asks can take for an answer.
    public var freshness: Duration { min(idle + interval, Self.longestFreshness) }

    private static let longestFreshness = Duration.seconds(10)
}
