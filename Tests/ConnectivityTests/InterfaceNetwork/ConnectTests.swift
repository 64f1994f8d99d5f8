import AgentModel
import DNS
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Connectivity

@Suite struct ConnectTests {
    private static let long = Duration.seconds(20)

    /// Says one word to whoever connects.
    private func greeter(on address: String = "127.0.0.1", port: Int = 0) async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.writeAndFlush(ByteBuffer(string: "hello"), promise: nil)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: address, port: port).get()
    }

    /// A port where nobody listens.
    private func closedPort() async throws -> Int {
        let server = try await greeter()
        let port = try #require(server.localAddress?.port)
        try await server.close()
        return port
    }

    private var network: InterfaceNetwork {
        InterfaceNetwork(interface: "lo", on: MultiThreadedEventLoopGroup.singleton)
    }

    @Test func theWinnerIsSetUpOnceBeforeAnythingIsRead() async throws {
        let server = try await greeter()
        let port = try #require(server.localAddress?.port)
        let (words, continuation) = AsyncStream.makeStream(of: String.self)
        let count = Mutex(0)
        try await withNameServer {
            [.bytes($0.message.answer(addresses: "127.0.0.1", "127.0.0.2", "::1"))]
        } _: {
            network, _ in
            let channel = try await network.connect(host: "a.example", port: port, within: Self.long) { channel in
                channel.eventLoop.assertInEventLoop()
                count.withLock { $0 += 1 }
                try channel.pipeline.syncOperations.addHandler(WordReceiver(continuation))
            }
            #expect(channel.isActive)
            #expect(await words.first { _ in true } == "hello")
            #expect(count.withLock { $0 } == 1)
            // Nothing is left in the pipeline that would keep the other attempts alive.
            await #expect(throws: ChannelPipelineError.self) {
                try await channel.pipeline.containsHandler(type: AttemptWatch.self).get()
            }
            try await channel.close()
        }
        try await server.close()
    }

    /// Whoever says a word and leaves, long before anybody could ask, is heard all the same, and was reached.
    @Test func whoeverLeavesAtOnceIsHeard() async throws {
        let leaver = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.writeAndFlush(ByteBuffer(string: "hello")).whenComplete { _ in channel.close(promise: nil) }
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(leaver.localAddress?.port)
        for _ in 0..<200 {
            let (words, continuation) = AsyncStream.makeStream(of: String.self)
            let channel = try await network.connect(host: "127.0.0.1", port: port, within: Self.long) { channel in
                try channel.pipeline.syncOperations.addHandler(WordReceiver(continuation))
            }
            try await channel.closeFuture.get()
            continuation.finish()
            #expect(await words.reduce("", +) == "hello")
        }
        try await leaver.close()
    }

    /// The other side leaves while the channel is set up: that is the handlers' to tell.
    @Test func aConnectionThatEndsAtOnceIsOne() async throws {
        let leaver = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { $0.close() }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(leaver.localAddress?.port)
        for _ in 0..<200 {
            let channel = try await network.connect(host: "127.0.0.1", port: port, within: Self.long)
            try await channel.closeFuture.get()
        }
        try await leaver.close()
    }

    @Test func aRefusalIsToldAtOnce() async throws {
        let port = try await closedPort()
        await #expect(throws: ConnectFailure.refused) {
            try await network.connect(host: "127.0.0.1", port: port, within: .seconds(250))
        }
        #expect(ConnectFailure.refused.problem == .connectionRefused)
    }

    /// A queue that is full: the kernel answers no one more.
    @Test func silenceIsToldWhenTheTimeIsOver() async throws {
        let full = try FullQueue()
        defer { full.close() }
        await #expect(throws: ConnectFailure.timedOut) {
            try await network.connect(host: "127.0.0.1", port: full.port, within: .milliseconds(300))
        }
    }

    /// One family dead and the other refusing: whoever refuses has been reached.
    @Test func theMostTellingFailureIsTold() async throws {
        let full = try FullQueue()
        defer { full.close() }
        try await withNameServer {
            [.bytes($0.message.answer(addresses: "127.0.0.1", "::1"))]
        } _: { network, _ in
            await #expect(throws: ConnectFailure.refused) {
                try await network.connect(host: "a.example", port: full.port, within: .seconds(4))
            }
        }
    }

    /// The first address is silent; the second has its turn after a quarter of a second (RFC 8305, 5).
    @Test func aSilentAddressIsPassedOver() async throws {
        let full = try FullQueue()
        defer { full.close() }
        let server = try await greeter(on: "127.0.0.2", port: full.port)
        try await withNameServer {
            [.bytes($0.message.answer(addresses: "127.0.0.1", "127.0.0.2"))]
        } _: { network, _ in
            let channel = try await network.connect(host: "a.example", port: full.port, within: .seconds(250))
            #expect(channel.remoteAddress?.ipAddress == "127.0.0.2")
            try await channel.close()
        }
        try await server.close()
    }

    /// A name server that is silent about IPv6 keeps nobody from IPv4.
    @Test func aSilentQuestionIsPassedOver() async throws {
        let server = try await greeter()
        let port = try #require(server.localAddress?.port)
        try await withNameServer { query in
            query.type == .ipv6 ? [] : [.bytes(query.message.answer(addresses: "127.0.0.1"))]
        } _: { network, _ in
            let channel = try await network.connect(host: "a.example", port: port, within: .seconds(250))
            try await channel.close()
        }
        try await server.close()
    }

    @Test func namesFailByTheirOwnNames() async throws {
        try await withNameServer {
            [.bytes($0.message.answer(code: 3))]
        } _: { network, _ in
            await #expect(throws: ConnectFailure.name(.unknownName)) {
                try await network.connect(host: "a.example", port: 1, within: Self.long)
            }
        }
        try await withNameServer {
            [.bytes($0.message.answer([]))]
        } _: { network, _ in
            await #expect(throws: ConnectFailure.name(.noAddress)) {
                try await network.connect(host: "a.example", port: 1, within: Self.long)
            }
        }
        try await withNameServer { _ in
            []
        } _: { network, _ in
            await #expect(throws: ConnectFailure.name(.silent)) {
                try await network.connect(host: "a.example", port: 1, within: .milliseconds(300))
            }
        }
        for port in [-1, 0, 65_536] {
            await #expect(throws: ConnectFailure.name(.invalid)) {
                try await network.connect(host: "127.0.0.1", port: port, within: Self.long)
            }
        }
        await #expect(throws: ConnectFailure.name(.invalid)) {
            try await network.connect(host: "a b", port: 1, within: Self.long)
        }
    }

    @Test func whatCannotBeSetUpIsClosed() async throws {
        struct Unwilling: Error {}
        let server = try await greeter()
        let port = try #require(server.localAddress?.port)
        let made = Mutex<(any Channel)?>(nil)
        await #expect(throws: ConnectFailure.setUp("Unwilling()")) {
            try await network.connect(host: "127.0.0.1", port: port, within: Self.long) { channel in
                made.withLock { $0 = channel }
                throw Unwilling()
            }
        }
        let channel = try #require(made.withLock { $0 })
        try await channel.closeFuture.get()
        try await server.close()
    }

    @Test func whoeverConnectsCanLeave() async throws {
        let full = try FullQueue()
        defer { full.close() }
        let (network, port) = (network, full.port)
        let task = Task { try await network.connect(host: "127.0.0.1", port: port, within: .seconds(250)) }
        try await full.isTried()
        task.cancel()
        await #expect(throws: ConnectFailure.cancelled) { try await task.value }
    }

    @Test func anInterfaceThatIsNotThereHasNoAddress() async throws {
        for name in ["altnet-none", "a-name-that-is-too-long", ""] {
            let network = InterfaceNetwork(interface: name, on: MultiThreadedEventLoopGroup.singleton)
            await #expect(throws: ConnectFailure.noAddress) {
                try await network.connect(host: "192.0.2.1", port: 1, within: Self.long)
            }
        }
    }
}

private final class WordReceiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let words: AsyncStream<String>.Continuation

    init(_ words: AsyncStream<String>.Continuation) { self.words = words }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        words.yield(String(buffer: unwrapInboundIn(data)))
    }
}
