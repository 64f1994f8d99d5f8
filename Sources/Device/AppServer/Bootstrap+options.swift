import NIOCore
import NIOPosix

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension ServerBootstrap {
    /// What every connection has, whichever way it came.
    func childChannelOptions() -> ServerBootstrap {
        // Small reads, one at a time: what a client has sent and nobody has read yet stays in the kernel.
        childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 512, initial: 1024, maximum: 16_384)
            )
            // `echo ... | nc -U` closes its sending half first and still wants its answers.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
    }

    /// A phone that has left the network says no goodbye: the kernel asks after it and gives it up within a minute (tcp(7)).
    ///
    /// What waits to be sent to it is little, so that a subscriber who does not read is told of a gap and not of the past.
    func reachabilityOptions() -> ServerBootstrap {
        let options = childChannelOption(.socketOption(.so_keepalive), value: 1)
            .childChannelOption(.socketOption(.so_sndbuf), value: 65_536)
        #if os(Linux)
            return
                options
                .childChannelOption(.tcp(TCP_KEEPIDLE), value: 20)
                .childChannelOption(.tcp(TCP_KEEPINTVL), value: 10)
                .childChannelOption(.tcp(TCP_KEEPCNT), value: 3)
                .childChannelOption(.tcp(TCP_USER_TIMEOUT), value: 50_000)
        #else
            return options
        #endif
    }
}

extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
    fileprivate static func tcp(_ option: CInt) -> Self {
        Self(level: .tcp, name: NIOBSDSocket.Option(rawValue: option))
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Out of file descriptors, accepting is tried again a second later.
    func acceptThroughShortage() throws {
        try addHandler(AcceptBackoffHandler(shouldForwardIOErrorCaught: false), position: .first)
    }
}
