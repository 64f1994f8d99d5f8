import AgentModel
import Connectivity
import DNS
import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A name server on this machine, by datagram and by stream, which says whatever a test wants.
final class FakeNameServer: Sendable {
    struct Query: Sendable {
        let message: DNSMessage
        let isStream: Bool
        /// How many came before.
        let number: Int
        /// The address it came from.
        let sender: String

        var type: DNSRecordType? { message.questions.first?.type }
    }

    enum Reply: Sendable {
        case bytes([UInt8])
        /// From a port that nobody asked.
        case bytesFromElsewhere([UInt8])
        case hangUp
    }

    let port: Int
    private let channels: [any Channel]
    private let desk: Desk

    var queries: [Query] { desk.queries }

    private init(port: Int, _ channels: [any Channel], _ desk: Desk) {
        self.port = port
        self.channels = channels
        self.desk = desk
    }

    static func start(
        on address: String = "127.0.0.1", _ group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        answer: @escaping @Sendable (Query) -> [Reply]
    ) async throws -> FakeNameServer {
        let desk = Desk(answer)
        // On the loop, whose thread may live in another namespace.
        let loop = group.next()
        let stream = try await loop.flatSubmit {
            ServerBootstrap(group: loop)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(StreamClerk(desk))
                    }
                }
                .bind(host: address, port: 0)
        }.get()
        guard let port = stream.localAddress?.port else { throw ChannelError.unknownLocalAddress }
        let elsewhere = try await loop.flatSubmit { DatagramBootstrap(group: loop).bind(host: address, port: 0) }.get()
        let datagrams = try await loop.flatSubmit {
            DatagramBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(DatagramClerk(desk, elsewhere))
                    }
                }
                .bind(host: address, port: port)
        }.get()
        return FakeNameServer(port: port, [stream, datagrams, elsewhere], desk)
    }

    func stop() async { for channel in channels { try? await channel.close() } }

    /// Where queries are noted and answered.
    final class Desk: Sendable {
        private let answer: @Sendable (Query) -> [Reply]
        private let received = Mutex<[Query]>([])

        init(_ answer: @escaping @Sendable (Query) -> [Reply]) { self.answer = answer }

        var queries: [Query] { received.withLock { $0 } }

        func replies(to buffer: ByteBuffer, from sender: SocketAddress?, isStream: Bool) -> [Reply] {
            guard let message = try? DNSMessage(reading: buffer.readableBytesView) else { return [] }
            let query = received.withLock { received in
                received.append(
                    Query(
                        message: message, isStream: isStream, number: received.count,
                        sender: sender?.ipAddress ?? "?"))
                return received[received.count - 1]
            }
            return answer(query)
        }
    }
}

private final class DatagramClerk: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private let desk: FakeNameServer.Desk
    private let elsewhere: any Channel

    init(_ desk: FakeNameServer.Desk, _ elsewhere: any Channel) {
        self.desk = desk
        self.elsewhere = elsewhere
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = unwrapInboundIn(data)
        for reply in desk.replies(to: envelope.data, from: envelope.remoteAddress, isStream: false) {
            switch reply {
            case .bytes(let bytes):
                let answer = AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: ByteBuffer(bytes: bytes))
                context.channel.writeAndFlush(answer, promise: nil)
            case .bytesFromElsewhere(let bytes):
                let answer = AddressedEnvelope(remoteAddress: envelope.remoteAddress, data: ByteBuffer(bytes: bytes))
                elsewhere.writeAndFlush(answer, promise: nil)
            case .hangUp: break
            }
        }
    }
}

private final class StreamClerk: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let desk: FakeNameServer.Desk
    private var received = ByteBuffer()

    init(_ desk: FakeNameServer.Desk) { self.desk = desk }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        while let message = received.readLengthPrefixedSlice(as: UInt16.self) {
            for reply in desk.replies(to: message, from: context.channel.remoteAddress, isStream: true) {
                switch reply {
                case .bytes(let bytes):
                    // In two pieces, for a stream has no edges.
                    let frame = [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xff)] + bytes
                    context.channel.writeAndFlush(ByteBuffer(bytes: frame.prefix(7)), promise: nil)
                    context.channel.writeAndFlush(ByteBuffer(bytes: frame.dropFirst(7)), promise: nil)
                case .bytesFromElsewhere(let bytes):
                    context.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
                case .hangUp: context.close(promise: nil)
                }
            }
        }
    }
}

/// A folder of notes, and the servers that it names, for as long as a test takes.
func withNameServers(
    _ answers: [@Sendable (FakeNameServer.Query) -> [FakeNameServer.Reply]],
    _ body: (InterfaceNetwork, [FakeNameServer]) async throws -> Void
) async throws {
    var servers: [FakeNameServer] = []
    for answer in answers { servers.append(try await FakeNameServer.start(answer: answer)) }
    let notes = try NoteFolder()
    try notes.write("NAME_SERVERS=" + servers.map { "127.0.0.1:\($0.port)" }.joined(separator: " "), to: "leases/lo")
    try await body(
        InterfaceNetwork(interface: "lo", on: MultiThreadedEventLoopGroup.singleton, files: notes.files), servers)
    for server in servers { await server.stop() }
    notes.remove()
}

/// Runs `body` against one name server.
func withNameServer(
    _ answer: @escaping @Sendable (FakeNameServer.Query) -> [FakeNameServer.Reply],
    _ body: (InterfaceNetwork, FakeNameServer) async throws -> Void
) async throws {
    try await withNameServers([answer]) { try await body($0, $1[0]) }
}
