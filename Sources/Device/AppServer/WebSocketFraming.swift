import AppProtocol
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Carries each line of the app protocol as a WebSocket text message. Buffers at most one read and two pongs.
final class WebSocketFraming: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = WebSocketFrame

    static let path = "/altnet"

    private var isClosing = false
    /// Copy of the content of all frames from one read. A frame itself would keep its whole read buffer.
    private var received = ByteBuffer()
    private var isPongUnderWay = false
    /// Newest ping that arrived while a pong was being sent. Earlier pings need no answer (RFC 6455, 5.5.3).
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
            // The connection then answers earlier requests and ends, as when a client closes its sending half.
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        passOn(context)
        context.fireChannelReadComplete()
    }

    /// Stops reading while the peer does not read.
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
    /// Waits for the HTTP/1.1 upgrade, then places the WebSocket's framing before `handler`.
    /// - Parameters:
    ///   - limit: limits the client's bytes until it has proved its key. Then the caller lifts the limit.
    ///   - exchange: answers any other request; nil without pages.
    func addWebSocket(before handler: HandshakeHandler, _ limit: WebByteLimit, or exchange: BrowserExchange?) throws {
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

/// Answers page requests with 426 Upgrade Required.
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
