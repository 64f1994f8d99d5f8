import DNS
import NIOCore
import NIOPosix

/// A socket to one name server, from a random port. Drops messages from other senders.
///
/// The UDP socket is not connected: on connected sockets, ICMP errors make NIO crash (2.101.2:
/// `DatagramChannel.error()` reads the error from the socket and then requires it).
struct NameServerSocket: Sendable {
    private let channel: EventLoopFuture<any Channel>
    private let report: @Sendable (Event) -> Void

    enum Event: Sendable {
        case message([UInt8])
        case failure(NameFailure)
    }

    /// - Parameter isStream: true to use TCP (RFC 1035, 4.2.2) instead of UDP.
    init(
        to server: NameServer, isStream: Bool, through way: BoundLoop, _ report: @escaping @Sendable (Event) -> Void
    ) {
        self.report = report
        let initializer: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(InterfaceBinding(to: way.interface))
                if isStream { try pipeline.addHandler(MessageFrames()) }
                try pipeline.addHandler(MessageReceiver(isStream: isStream, report))
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
        sent.whenFailure { [report] error in report(.failure(NameFailure(sending: error))) }
    }

    func close() { channel.whenSuccess { $0.close(promise: nil) } }
}

struct BoundLoop: Sendable {
    let interface: String?
    let loop: any EventLoop
}

extension NameFailure {
    /// Converts an error. A host that refuses is not a name server.
    fileprivate init(sending error: any Error) {
        switch ConnectFailure(error) {
        case .refused, .reset, .timedOut: self = .silent
        case let failure: self = .unsent(failure.problem)
        }
    }
}

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
        // Ignores the zone of link-local senders.
        guard sender.ipAddress == server.ipAddress, sender.port == server.port else { return }
        context.fireChannelRead(wrapInboundOut(envelope.data))
    }
}

extension SocketAddress {
    /// Local address of a datagram socket for this destination: the loopback address for loopback, otherwise any
    /// address.
    fileprivate var anyAddress: String {
        let isIPv6 = if case .v6 = self { true } else { false }
        return isLoopback ? isIPv6 ? "::1" : "127.0.0.1" : isIPv6 ? "::" : "0.0.0.0"
    }
}

/// Prefixes each message with its length in two bytes.
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
            // Longer messages are never read, so they are not buffered.
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
    private let report: @Sendable (NameServerSocket.Event) -> Void

    init(isStream: Bool, _ report: @escaping @Sendable (NameServerSocket.Event) -> Void) {
        self.isStream = isStream
        self.report = report
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        report(.message(Array(unwrapInboundIn(data).readableBytesView)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        report(.failure(NameFailure(sending: error)))
        context.close(promise: nil)
    }

    /// Reports the end of a TCP connection. Ignores UDP, whose failures reach the sender.
    func channelInactive(context: ChannelHandlerContext) { if isStream { report(.failure(.silent)) } }
}
