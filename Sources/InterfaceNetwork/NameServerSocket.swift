import AgentModel
import DNSMessage
import NIOCore
import NIOPosix

/// A socket with one name server at its other end, to which the kernel lets nobody else speak. Its port is a random one
/// of the kernel's.
struct NameServerSocket: Sendable {
    private let channel: EventLoopFuture<any Channel>
    private let tell: @Sendable (Event) -> Void

    enum Event: Sendable {
        case message([UInt8])
        case failure(NameFailure)
    }

    /// - Parameters:
    ///   - isStream: TCP (RFC 1035, 4.2.2) instead of datagrams.
    ///   - tell: what comes of it, on the loop.
    init(
        to server: NameServer, isStream: Bool, through way: BoundLoop, _ tell: @escaping @Sendable (Event) -> Void
    ) {
        self.tell = tell
        let initializer: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(InterfaceBinding(to: way.interface))
                if isStream { try pipeline.addHandler(MessageFrames()) }
                try pipeline.addHandler(MessageReceiver(tell))
            }
        }
        do {
            let address = try SocketAddress(server.address, port: server.port)
            channel =
                isStream
                ? ClientBootstrap(group: way.loop).channelInitializer(initializer).connect(to: address)
                : DatagramBootstrap(group: way.loop)
                    .channelOption(
                        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: DNSMessage.maximumLength)
                    )
                    .channelInitializer { channel in
                        initializer(channel).flatMapThrowing {
                            try channel.pipeline.syncOperations.addHandler(Envelopes(), position: .first)
                        }
                    }
                    .connect(to: address)
        } catch {
            channel = way.loop.makeFailedFuture(error)
        }
    }

    func send(_ message: [UInt8]) {
        let sent = channel.flatMap { channel in
            channel.writeAndFlush(channel.allocator.buffer(bytes: message))
        }
        sent.whenFailure { [tell] error in tell(.failure(NameFailure(sending: error))) }
    }

    func close() { channel.whenSuccess { $0.close(promise: nil) } }
}

/// Where sockets are made: on one loop, and bound to one interface.
struct BoundLoop: Sendable {
    let interface: String?
    let loop: any EventLoop
}

extension NameFailure {
    /// Why a server could not be asked. One that refuses is there, but is no name server.
    fileprivate init(sending error: any Error) {
        switch ConnectFailure(error) {
        case .refused, .reset, .timedOut: self = .silent
        case let failure: self = .unsent(failure.problem)
        }
    }
}

/// Takes datagrams out of their envelopes, whose sender the kernel has seen to.
private final class Envelopes: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias InboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(wrapInboundOut(unwrapInboundIn(data).data))
    }
}

/// Each message goes after its length in two bytes.
private final class MessageFrames: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var received = ByteBuffer()

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let message = unwrapOutboundIn(data)
        var frame = context.channel.allocator.buffer(capacity: 2 + message.readableBytes)
        frame.writeInteger(UInt16(clamping: message.readableBytes))
        frame.writeImmutableBuffer(message)
        context.write(wrapOutboundOut(frame), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        while let length = received.getInteger(at: received.readerIndex, as: UInt16.self) {
            // Nothing longer is read, so nothing longer is collected.
            guard length <= DNSMessage.maximumLength else { return context.fireErrorCaught(ChannelError.eof) }
            guard received.readableBytes >= 2 + Int(length) else { return }
            received.moveReaderIndex(forwardBy: 2)
            if let message = received.readSlice(length: Int(length)) {
                context.fireChannelRead(wrapInboundOut(message))
            }
        }
        received.discardReadBytes()
    }
}

private final class MessageReceiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let tell: @Sendable (NameServerSocket.Event) -> Void

    init(_ tell: @escaping @Sendable (NameServerSocket.Event) -> Void) { self.tell = tell }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        tell(.message(Array(unwrapInboundIn(data).readableBytesView)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        tell(.failure(NameFailure(sending: error)))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { tell(.failure(.silent)) }
}
