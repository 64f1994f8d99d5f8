import NIOCore

/// Counts what goes over the connection, as it is before TLS, and ends it where more comes than may.
final class ByteMeter: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct TooMuch: Error {}

    private let limit: Int
    private(set) var received = 0
    private(set) var sent = 0

    init(limit: Int) { self.limit = limit }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard received <= limit else { return }
        received += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
        // What is in it comes first: it may hold the end of the answer.
        if received > limit { context.fireErrorCaught(TooMuch()) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        sent += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }
}
