import AppProtocol
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Lines of the app protocol as the text messages of a WebSocket, one each.
///
/// Inbound messages become lines with their line feeds, and outbound lines become messages.
/// A peer makes this handler hold at most one read's bytes and two pongs, however it cuts its frames.
final class WebSocketFraming: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = WebSocketFrame

    /// The path of the upgrade request.
    static let path = "/altnet"

    private var isClosing = false
    /// The content of all frames of one read, copied: a frame itself keeps the buffer that it was read into.
    private var received = ByteBuffer()
    private var isPongUnderWay = false
    /// The newest ping that came while a pong was under way. It alone has to be answered (RFC 6455, 5.5.3).
    private var waitingPing: ByteBuffer?
    private var isReadWaiting = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text, .binary, .continuation:
            received.writeImmutableBuffer(frame.unmaskedData)
            if frame.fin { received.writeInteger(UInt8(ascii: "\n")) }
        case .ping: pong(frame.unmaskedData, context)
        case .connectionClose:
            isClosing = true
            passOn(context)
            write(.connectionClose, frame.unmaskedData, context)
            // All earlier requests are answered first, as at the end of a stream of lines.
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        passOn(context)
        context.fireChannelReadComplete()
    }

    /// Reads nothing more while the peer does not read.
    func read(context: ChannelHandlerContext) {
        isReadWaiting = !context.channel.isWritable
        if !isReadWaiting { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if isReadWaiting { read(context: context) }
        context.fireChannelWritabilityChanged()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var line = unwrapOutboundIn(data)
        if line.readableBytesView.last == UInt8(ascii: "\n") { line.moveWriterIndex(to: line.writerIndex - 1) }
        let frame = WebSocketFrame(fin: true, opcode: .text, data: line)
        context.write(wrapOutboundOut(frame), promise: promise)
    }

    private func passOn(_ context: ChannelHandlerContext) {
        guard received.readableBytes > 0 else { return }
        let bytes = received
        received = ByteBuffer()
        context.fireChannelRead(wrapInboundOut(bytes))
    }

    private func pong(_ data: ByteBuffer, _ context: ChannelHandlerContext) {
        guard !isPongUnderWay else { return waitingPing = ByteBuffer(bytes: data.readableBytesView) }
        isPongUnderWay = true
        write(.pong, data, context).assumeIsolated().whenComplete { [self] _ in
            isPongUnderWay = false
            guard let next = waitingPing else { return }
            waitingPing = nil
            pong(next, context)
        }
    }

    @discardableResult
    private func write(
        _ opcode: WebSocketOpcode, _ data: ByteBuffer, _ context: ChannelHandlerContext
    ) -> EventLoopFuture<Void> {
        let frame = WebSocketFrame(fin: true, opcode: opcode, data: data)
        return context.writeAndFlush(wrapOutboundOut(frame))
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Waits for the upgrade of HTTP/1.1, and then puts a WebSocket's lines before `handler`.
    /// - Parameters:
    ///   - limit: bounds what the client sends until it has shown its key; the caller removes it then.
    ///   - exchange: answers any other request; nil where there are no pages.
    func addWebSocket(before handler: HandshakeHandler, _ limit: WebByteLimit, or exchange: WebExchange?) throws {
        let other: any ChannelHandler & RemovableChannelHandler = exchange ?? NoUpgradeHandler()
        let bound = NIOLoopBound((other: other, limit: limit, handler: handler), eventLoop: eventLoop)
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: ProtocolLimits.lineLength,
            shouldUpgrade: { channel, head in
                let path = head.uri.prefix { $0 != "?" }
                return channel.eventLoop.makeSucceededFuture(path == WebSocketFraming.path ? HTTPHeaders() : nil)
            },
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    pipeline.removeHandler(bound.value.other, promise: nil)
                    bound.value.limit.restart(at: ProtocolLimits.openingFramesLength)
                    try bound.value.handler.moveBehind([WebSocketFraming()], in: pipeline)
                    bound.value.handler.greet()
                }
            })
        try addHandler(limit, position: .before(handler))
        try configureHTTPServerPipeline(
            position: .before(handler), withPipeliningAssistance: false,
            withServerUpgrade: (upgraders: [upgrader], completionHandler: { _ in }))
        try addHandler(other, position: .before(handler))
    }
}

/// Tells who asks for a page that there is none.
private final class NoUpgradeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let headers: HTTPHeaders = [
            "Content-Length": "0", "Connection": "close", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        ]
        let head = HTTPResponseHead(version: .http1_1, status: .upgradeRequired, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        let loop = context.eventLoop
        let bound = NIOLoopBound(context, eventLoop: loop)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in bound.value.close(promise: nil) }
    }
}
