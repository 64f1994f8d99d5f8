import AgentModel
import AppServer
import NIOCore
import NIOPosix

/// The name server of the setup access point. It uses only UDP, because all answers are short.
final class SetupNameServer: ChannelInboundHandler, Sendable {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let answers: NameAnswers
    private let clock: ServerClock
    /// Limit of the query rate of one phone. Further queries are dropped.
    private let rates = SiteRates(AppServer.RequestRate(perSecond: 50, burst: 100), maximum: 256)
    private let all: NIOLoopBoundBox<TokenBucket>

    init(_ answers: NameAnswers, clock: ServerClock, on loop: any EventLoop) {
        (self.answers, self.clock) = (answers, clock)
        all = .makeBoxSendingValue(TokenBucket(500, per: .seconds(1), burst: 1000), eventLoop: loop)
    }

    static func bind(
        _ answers: NameAnswers, at address: IPAddress, port: Int, clock: ServerClock, on loop: any EventLoop,
        prepare: @escaping @Sendable (any Channel) throws -> Void
    ) async throws -> any Channel {
        try await DatagramBootstrap(group: loop)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 2048))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try prepare(channel)
                    try channel.pipeline.syncOperations.addHandler(
                        SetupNameServer(answers, clock: clock, on: channel.eventLoop))
                }
            }
            .bind(to: SocketAddress(ipAddress: "\(address)", port: port)).get()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let question = unwrapInboundIn(data)
        // Drops answers while the link is busy, because phones ask again.
        guard context.channel.isWritable, let site = question.remoteAddress.site,
            rates.consume(site, and: &all.value, at: clock.now) == nil,
            let answer = answers.answer(question.data.readableBytesView)
        else { return }
        context.writeAndFlush(
            wrapOutboundOut(.init(remoteAddress: question.remoteAddress, data: ByteBuffer(bytes: answer))), promise: nil
        )
    }

    /// Ignores ICMP errors caused by clients that have left.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
