import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension ClientBootstrap {
    /// A device that has left the network says nothing more: it is noticed after about 30 seconds, whether the
    /// connection was idle (tcp(7), `TCP_KEEPIDLE` and the like) or had something to say.
    func keptAlive() -> ClientBootstrap {
        let bootstrap = channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.keepAliveInterval), value: 5)
            .channelOption(.tcpOption(.keepAliveCount), value: 3)
        #if canImport(Darwin)
            return bootstrap.channelOption(.tcpOption(.keepAliveIdle), value: 15)
                .channelOption(.tcpOption(.dropAfter), value: 30)
        #else
            return bootstrap.channelOption(.tcpOption(.keepAliveIdle), value: 15)
                .channelOption(.tcpOption(.dropAfter), value: 30_000)
        #endif
    }
}

extension NIOBSDSocket.Option {
    fileprivate static let keepAliveInterval = NIOBSDSocket.Option(rawValue: TCP_KEEPINTVL)
    fileprivate static let keepAliveCount = NIOBSDSocket.Option(rawValue: TCP_KEEPCNT)
    #if canImport(Darwin)
        /// In seconds.
        fileprivate static let keepAliveIdle = NIOBSDSocket.Option(rawValue: TCP_KEEPALIVE)
        /// In seconds (netinet/tcp.h).
        fileprivate static let dropAfter = NIOBSDSocket.Option(rawValue: TCP_RXT_CONNDROPTIME)
    #else
        /// In seconds.
        fileprivate static let keepAliveIdle = NIOBSDSocket.Option(rawValue: TCP_KEEPIDLE)
        /// In ms.
        fileprivate static let dropAfter = NIOBSDSocket.Option(rawValue: TCP_USER_TIMEOUT)
    #endif
}
