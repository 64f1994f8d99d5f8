import NIOCore

/// Counts what goes over the connection where it stands, behind TLS or before, and ends it where more comes than may.
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
        var bytes = unwrapInboundIn(data)
        let room = limit - received
        received += bytes.readableBytes
        // What there is room for comes first: it may hold the end of the answer, however much is behind it.
        if room > 0, let allowed = bytes.readSlice(length: min(room, bytes.readableBytes)) {
            context.fireChannelRead(wrapInboundOut(allowed))
        }
        if bytes.readableBytes > 0 { context.fireErrorCaught(TooMuch()) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        sent += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }
}
