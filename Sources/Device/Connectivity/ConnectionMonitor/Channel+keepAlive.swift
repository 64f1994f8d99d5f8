import AgentModel
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

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
