import NIOCore
import NIOPosix

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
}

extension ChannelPipeline.SynchronousOperations {
    /// Out of file descriptors, accepting is tried again a second later.
    func acceptThroughShortage() throws {
        try addHandler(AcceptBackoffHandler(shouldForwardIOErrorCaught: false), position: .first)
    }
}
