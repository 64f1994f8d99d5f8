import AgentModel
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// When a connection on which nothing is said is asked whether it still lives.
public struct KeepAlive: Sendable, Hashable {
    /// The kernel asks after so much silence (tcp(7), `TCP_KEEPIDLE`).
    public var idle = Duration.seconds(4)
    /// And again, if there is no answer (`TCP_KEEPINTVL`).
    public var interval = Duration.seconds(1)
    /// So often, before the connection is given up (`TCP_KEEPCNT`).
    public var count = 2
    /// A server that is spoken to (`http`, `mqtt`) is asked this often, and has so long to answer: that shows whether
    /// the program still runs, and not only its kernel.
    public var application = Duration.seconds(30)
    public var applicationLimit = Duration.seconds(5)

    public init() {}

    /// - Parameter idle: whole seconds, 1 to 32767 (tcp(7)).
    public init(idle: Duration) { self.idle = idle }

    /// A path that died is noticed so long after the last word from the other side.
    public var detection: Duration { idle + interval * count }
    /// A word heard so lately counts as an answer: while the path lives that is always so, unless silence may last
    /// longer than a caller can take for an answer.
    public var freshness: Duration { min(idle + interval, Self.longestFreshness) }

    private static let longestFreshness = Duration.seconds(10)
}

#if os(Linux)
    extension Channel {
        /// Lets the kernel find out whether the other side is still there, whether nothing is said or something that is
        /// not acknowledged (tcp(7)). Called on the channel's event loop.
        func keepAlive(_ settings: KeepAlive) throws {
            guard let options = syncOptions else { return }
            try options.setOption(.socketOption(.so_keepalive), value: 1)
            try options.setOption(.tcp(TCP_KEEPIDLE), value: settings.idle.wholeSeconds)
            try options.setOption(.tcp(TCP_KEEPINTVL), value: settings.interval.wholeSeconds)
            try options.setOption(.tcp(TCP_KEEPCNT), value: settings.count)
            try options.setOption(.tcp(TCP_USER_TIMEOUT), value: Int(settings.detection.milliseconds))
        }

        /// How long ago the other side was last heard, if only by an acknowledgement; nil if the kernel does not tell.
        func silence() -> EventLoopFuture<Duration?> {
            guard let socket = self as? any SocketOptionProvider else { return eventLoop.makeSucceededFuture(nil) }
            return socket.getTCPInfo()
                .map { .milliseconds(Int64(min($0.tcpi_last_ack_recv, $0.tcpi_last_data_recv))) }
                .recover { _ in nil }
        }
    }

    extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
        fileprivate static func tcp(_ option: CInt) -> Self {
            Self(level: .tcp, name: NIOBSDSocket.Option(rawValue: option))
        }
    }

    extension Duration {
        /// At least one, at most what tcp(7) takes.
        fileprivate var wholeSeconds: Int { Int(min(max(components.seconds, 1), 32_767)) }
    }
#endif
