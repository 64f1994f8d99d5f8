import AgentModel
import DNS
import NIOCore
import NIOPosix

/// A socket with one name server at its other end; messages from any other sender are dropped. Its port is a random one
/// of the kernel's.
///
/// The one for datagrams is not connected: to a connected one the kernel passes on what routers say of a packet's fate,
/// and of that NIO dies (2.101.2: `DatagramChannel.error()` takes the error from the socket and then insists on reading
/// it).
struct NameServerSocket: Sendable {
    private let channel: EventLoopFuture<any Channel>
    private let tell: @Sendable (Event) -> Void

    enum Event: Sendable {
        case message([UInt8])
        case failure(NameFailure)
    }

    /// - Parameters:
    ///   - isStream: TCP (RFC 1035, 4.2.2) instead of datagrams.
    ///   - tell: is called with each event, on the loop.
    init(
        to server: NameServer, isStream: Bool, through way: BoundLoop, _ tell: @escaping @Sendable (Event) -> Void
    ) {
        self.tell = tell
        let initializer: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(InterfaceBinding(to: way.interface))
                if isStream { try pipeline.addHandler(MessageFrames()) }
                try pipeline.addHandler(MessageReceiver(isStream: isStream, tell))
            }
        }
        channel = way.loop.flatSubmit {
            guard let address = try? SocketAddress(server.address, port: server.port) else {
                return way.loop.makeFailedFuture(ChannelError.unknownLocalAddress)
            }
            guard !isStream else {
                return ClientBootstrap(group: way.loop).channelInitializer(initializer).connect(to: address)
            }
            return DatagramBootstrap(group: way.loop)
                .channelOption(
                    .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: DNSMessage.maximumLength)
                )
                .channelInitializer { channel in
                    initializer(channel).flatMapThrowing {
                        try channel.pipeline.syncOperations.addHandler(Envelopes(to: address), position: .first)
                    }
                }
                .bind(host: address.anyAddress, port: 0)
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

/// The place of sockets: one loop, and one interface.
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

/// Puts datagrams into envelopes to the server, and takes those that come from it out of theirs.
private final class Envelopes: ChannelDuplexHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = AddressedEnvelope<ByteBuffer>

    private let server: SocketAddress

    init(to server: SocketAddress) { self.server = server }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let envelope = AddressedEnvelope(remoteAddress: server, data: unwrapOutboundIn(data))
        context.write(wrapOutboundOut(envelope), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        let sender = envelope.remoteAddress
        // Not compared whole: a link-local sender comes with its interface.
        guard sender.ipAddress == server.ipAddress, sender.port == server.port else { return }
        context.fireChannelRead(wrapInboundOut(envelope.data))
    }
}

extension SocketAddress {
    /// The address to bind to in order to send there: of this machine's own where that is where it goes, and any
    /// otherwise.
    fileprivate var anyAddress: String {
        let isIPv6 = if case .v6 = self { true } else { false }
        return isLoopback ? isIPv6 ? "::1" : "127.0.0.1" : isIPv6 ? "::" : "0.0.0.0"
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

    private let isStream: Bool
    private let tell: @Sendable (NameServerSocket.Event) -> Void

    init(isStream: Bool, _ tell: @escaping @Sendable (NameServerSocket.Event) -> Void) {
        self.isStream = isStream
        self.tell = tell
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        tell(.message(Array(unwrapInboundIn(data).readableBytesView)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        tell(.failure(NameFailure(sending: error)))
        context.close(promise: nil)
    }

    /// A socket for datagrams ends only when nothing can be sent, and why is heard by who sends.
    func channelInactive(context: ChannelHandlerContext) { if isStream { tell(.failure(.silent)) } }
}
