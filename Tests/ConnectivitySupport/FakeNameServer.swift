import AgentModel
import Connectivity
import DNS
import NIOCore
import NIOPosix
import Synchronization

/// A name server on this machine, by datagram and by stream, which says whatever a test wants.
package final class FakeNameServer: Sendable {
    package struct Query: Sendable {
        package let message: DNSMessage
        package let isStream: Bool
        /// How many came before.
        package let number: Int
        /// The address it came from.
        package let sender: String

        package var type: DNSRecordType? { message.questions.first?.type }
    }

    package enum Reply: Sendable {
        case bytes([UInt8])
        /// From a port that was not asked.
        case bytesFromElsewhere([UInt8])
        case hangUp
    }

    package let port: Int
    private let channels: [any Channel]
    private let desk: Desk

    package var queries: [Query] { desk.queries }

    private init(port: Int, _ channels: [any Channel], _ desk: Desk) {
        self.port = port
        self.channels = channels
        self.desk = desk
    }

    package static func start(
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

    package func stop() async { for channel in channels { try? await channel.close() } }

    /// Notes and answers queries.
    fileprivate final class Desk: Sendable {
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

/// A network, and the name servers that it has told of, for as long as a test takes.
package func withNameServers(
    _ answers: [@Sendable (FakeNameServer.Query) -> [FakeNameServer.Reply]],
    _ body: (InterfaceNetwork, [FakeNameServer]) async throws -> Void
) async throws {
    var servers: [FakeNameServer] = []
    for answer in answers { servers.append(try await FakeNameServer.start(answer: answer)) }
    let network = InterfaceNetwork(
        interface: "lo", on: MultiThreadedEventLoopGroup.singleton,
        asking: servers.map { ("127.0.0.1", $0.port) })
    try await body(network, servers)
    for server in servers { await server.stop() }
}

extension InterfaceNetwork {
    /// A network that has told of these name servers.
    package init(interface: String?, on group: any EventLoopGroup, asking servers: [(address: String, port: Int)]) {
        self.init(interface: interface, on: group, announcements: .supplied)
        setAnnouncements(
            NetworkAnnouncements(
                nameServers: servers.compactMap { server in
                    IPAddress(server.address).map { NameServer($0, port: server.port) }
                }))
    }
}

/// Runs `body` against one name server.
package func withNameServer(
    _ answer: @escaping @Sendable (FakeNameServer.Query) -> [FakeNameServer.Reply],
    _ body: (InterfaceNetwork, FakeNameServer) async throws -> Void
) async throws {
    try await withNameServers([answer]) { try await body($0, $1[0]) }
}

/// A record as a name server writes it.
package struct WrittenRecord {
    package let name: DNSName
    package let type: DNSRecordType
    package var timeToLive: UInt32 = 60
    package let data: [UInt8]

    package static func address(_ name: DNSName, _ text: String, timeToLive: UInt32 = 60) -> WrittenRecord {
        let address = IPAddress(text)
        let type: DNSRecordType = address?.isIPv4 == true ? .ipv4 : .ipv6
        return WrittenRecord(name: name, type: type, timeToLive: timeToLive, data: address?.bytes ?? [])
    }

    package static func alias(_ name: DNSName, to other: DNSName, timeToLive: UInt32 = 60) -> WrittenRecord {
        WrittenRecord(name: name, type: .alias, timeToLive: timeToLive, data: other.written)
    }

    fileprivate var bytes: [UInt8] {
        let life = (0..<4).reversed().map { UInt8(truncatingIfNeeded: timeToLive >> (8 * $0)) }
        return name.written + [UInt8(type.rawValue >> 8), UInt8(type.rawValue & 0xff), 0, 1] + life
            + [UInt8(data.count >> 8), UInt8(data.count & 0xff)] + data
    }
}

extension DNSName {
    package var written: [UInt8] { labels.flatMap { [UInt8($0.count)] + $0 } + [0] }

    package static func test(_ text: String) -> DNSName { DNSName(text) ?? DNSName(known: "broken") }
}

extension DNSMessage {
    /// The answer to this query.
    package func answer(
        _ records: [WrittenRecord] = [], code: UInt8 = 0, isTruncated: Bool = false, id: UInt16? = nil,
        question: DNSQuestion? = nil, additional: [WrittenRecord] = []
    ) -> [UInt8] {
        let id = id ?? self.id
        var bytes: [UInt8] = [UInt8(id >> 8), UInt8(id & 0xff), isTruncated ? 0x83 : 0x81, 0x80 | code, 0, 1]
        bytes += [UInt8(records.count >> 8), UInt8(records.count & 0xff), 0, 0, 0, UInt8(additional.count)]
        let asked = question ?? questions[0]
        bytes += asked.name.written + [UInt8(asked.type.rawValue >> 8), UInt8(asked.type.rawValue & 0xff), 0, 1]
        return bytes + records.flatMap(\.bytes) + additional.flatMap(\.bytes)
    }

    /// The answer with those of the addresses that are asked for.
    package func answer(addresses: String..., timeToLive: UInt32 = 60) -> [UInt8] {
        let records = addresses.map { WrittenRecord.address(questions[0].name, $0, timeToLive: timeToLive) }
        return answer(records.filter { $0.type == questions[0].type })
    }
}
