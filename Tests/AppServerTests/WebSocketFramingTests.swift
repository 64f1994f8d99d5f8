import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import AppServer

/// A peer of a WebSocket makes the device hold little, however it cuts its frames.
@Suite struct WebSocketFramingTests {
    @Test func aPeerThatDoesNotReadIsOwedTwoPongs() throws {
        let held = HeldWrites()
        let channel = EmbeddedChannel(handlers: [held, WebSocketFraming()])
        for number in 0..<10_000 { try channel.writeInbound(frame(.ping, "\(number)")) }
        #expect(held.contents == ["0"])
        // The newest ping alone is answered, once the first pong has gone out (RFC 6455, 5.5.3).
        held.release()
        #expect(held.contents == ["9999"])
        held.release()
        try channel.writeInbound(frame(.ping, "next"))
        #expect(held.contents == ["next"])
        held.release()
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    /// 10,000 fragments of a byte in one read are one buffer, not as many.
    @Test func fragmentsOfOneReadAreOneBuffer() throws {
        let channel = EmbeddedChannel(handler: WebSocketFraming())
        channel.pipeline.fireChannelRead(frame(.text, "{", fin: false))
        for _ in 0..<10_000 { channel.pipeline.fireChannelRead(frame(.continuation, "a", fin: false)) }
        channel.pipeline.fireChannelRead(frame(.continuation, "}"))
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
        channel.pipeline.fireChannelReadComplete()
        let line = "{" + String(repeating: "a", count: 10_000) + "}\n"
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: line))
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func nothingIsReadWhileThePeerDoesNotRead() throws {
        let reads = CountedReads()
        let channel = EmbeddedChannel(handlers: [reads, WebSocketFraming()])
        channel.isWritable = false
        channel.pipeline.read()
        channel.pipeline.read()
        #expect(reads.count == 0)
        channel.isWritable = true
        channel.pipeline.fireChannelWritabilityChanged()
        #expect(reads.count == 1)
        channel.pipeline.read()
        #expect(reads.count == 2)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func nothingCountsBehindAClose() throws {
        let channel = EmbeddedChannel(handler: WebSocketFraming())
        for frame in [frame(.text, "a"), frame(.connectionClose, ""), frame(.text, "b"), frame(.ping, "c")] {
            try channel.writeInbound(frame)
        }
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "a\n"))
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
        #expect(try channel.readOutbound(as: WebSocketFrame.self)?.opcode == .connectionClose)
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    private func frame(_ opcode: WebSocketOpcode, _ text: String, fin: Bool = true) -> WebSocketFrame {
        WebSocketFrame(fin: fin, opcode: opcode, data: ByteBuffer(string: text))
    }
}

/// The limit of bytes before a proof.
@Suite struct WebByteLimitTests {
    @Test func itReportsOnceThatThereWasMore() throws {
        let (limit, seen) = (WebByteLimit(BrowserLimits()), SeenBytes())
        let channel = EmbeddedChannel(handlers: [limit, seen])
        limit.restart(at: 10)
        for _ in 0..<5 { try channel.writeInbound(ByteBuffer(string: "1234")) }
        #expect(seen.bytes == "1234123412")
        #expect(seen.excesses == 1)
        _ = try channel.finish(acceptAlreadyClosed: true)
    }

    @Test func bytesThatLiftTheLimitTakeTheRestAlong() throws {
        let limit = WebByteLimit(BrowserLimits())
        let seen = SeenBytes { if $0.contains("open") { limit.lift() } }
        let channel = EmbeddedChannel(handlers: [limit, seen])
        limit.restart(at: 6)
        try channel.writeInbound(ByteBuffer(string: "open, and much more"))
        #expect(seen.bytes == "open, and much more")
        #expect(seen.excesses == 0)
        // It is of no use any more, and leaves the pipeline.
        #expect(throws: ChannelPipelineError.self) { try channel.pipeline.syncOperations.context(handler: limit) }
        _ = try channel.finish(acceptAlreadyClosed: true)
    }
}

/// Keeps what is written, as a kernel does whose peer does not read.
private final class HeldWrites: ChannelOutboundHandler {
    typealias OutboundIn = WebSocketFrame

    private var writes: [(content: String, promise: EventLoopPromise<Void>?)] = []

    var contents: [String] { writes.map(\.content) }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        writes.append((String(buffer: unwrapOutboundIn(data).data), promise))
    }

    func release() {
        let released = writes
        writes = []
        for write in released { write.promise?.succeed() }
    }
}

private final class CountedReads: ChannelOutboundHandler {
    typealias OutboundIn = WebSocketFrame

    private(set) var count = 0

    func read(context: ChannelHandlerContext) { count += 1 }
}

private final class SeenBytes: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private(set) var bytes = ""
    private(set) var excesses = 0
    private let look: (String) -> Void

    init(_ look: @escaping (String) -> Void = { _ in }) { self.look = look }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes += String(buffer: unwrapInboundIn(data))
        look(bytes)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is WebByteLimit.Exceeded { excesses += 1 }
    }
}
