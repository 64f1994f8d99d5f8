import AppProtocol
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Lines of the app protocol as the text messages of a WebSocket, one each.
///
/// Messages in become lines with their line feeds, and lines out become messages: what is behind it knows of neither.
final class WebSocketFraming: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = WebSocketFrame

    /// The path of the upgrade request.
    static let path = "/altnet"

    private var isClosing = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text, .binary:
            var line = frame.unmaskedData
            line.writeInteger(UInt8(ascii: "\n"))
            context.fireChannelRead(wrapInboundOut(line))
        case .ping:
            write(.pong, frame.unmaskedData, context)
        case .connectionClose:
            guard !isClosing else { return context.close(promise: nil) }
            isClosing = true
            write(.connectionClose, frame.unmaskedData, context)
            // All that was asked is answered first, as where a stream of lines ends.
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        default: break
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var line = unwrapOutboundIn(data)
        if line.readableBytesView.last == UInt8(ascii: "\n") { line.moveWriterIndex(to: line.writerIndex - 1) }
        let frame = WebSocketFrame(fin: true, opcode: .text, data: line)
        context.write(wrapOutboundOut(frame), promise: promise)
    }

    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer, _ context: ChannelHandlerContext) {
        let frame = WebSocketFrame(fin: true, opcode: opcode, data: data)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Waits for the upgrade of HTTP/1.1, and puts a WebSocket's lines before `handler` then.
    /// - Parameter exchange: answers any other request; nil where there are no pages.
    func addWebSocket(before handler: HandshakeHandler, or exchange: WebExchange?) throws {
        let other: any ChannelHandler & RemovableChannelHandler = exchange ?? NoUpgradeHandler()
        let limit = WebByteLimit(WebLimits())
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
                    pipeline.removeHandler(bound.value.limit, promise: nil)
                    let aggregator = NIOWebSocketFrameAggregator(
                        minNonFinalFragmentSize: 1, maxAccumulatedFrameCount: 64,
                        maxAccumulatedFrameSize: ProtocolLimits.lineLength)
                    try bound.value.handler.moveBehind([aggregator, WebSocketFraming()], in: pipeline)
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
