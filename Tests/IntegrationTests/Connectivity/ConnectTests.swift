import AgentModel
import ConnectivitySupport
import DNS
import Foundation
import NIOCore
import NIOPosix
import Synchronization
import TestTime
import Testing

@testable import Connectivity

@Suite struct ConnectTests {
    private static let long = Duration.seconds(250)

    /// Says one word to each client.
    private func greeter(on address: String = "127.0.0.1", port: Int = 0) async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.writeAndFlush(ByteBuffer(string: "hello"), promise: nil)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: address, port: port).get()
    }

    /// A port without a program.
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

    /// A server that says a word and leaves at once is heard all the same, and was reached.
    @Test func aServerThatLeavesAtOnceIsHeard() async throws {
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

    /// A queue that is full: the kernel answers no further connection.
    @Test func silenceIsToldWhenTheTimeIsOver() async throws {
        let full = try FullQueue()
        defer { full.close() }
        await #expect(throws: ConnectFailure.timedOut) {
            try await network.connect(host: "127.0.0.1", port: full.port, within: .milliseconds(300))
        }
    }

    /// One family dead and the other refusing: a host that refuses has been reached.
    @Test func theMostTellingFailureIsTold() async throws {
        let full = try FullQueue()
        defer { full.close() }
        try await withNameServer {
            [.bytes($0.message.answer(addresses: "127.0.0.1", "::1"))]
        } _: { network, _ in
            // The silent address uses up the time, and the name server needs some of it.
            await #expect(throws: ConnectFailure.refused) {
                try await network.connect(host: "a.example", port: full.port, within: .seconds(20))
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

    /// A name server that is silent about IPv6 does not delay IPv4.
    @Test(.timeLimit(.minutes(1))) func aSilentQuestionIsPassedOver() async throws {
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

    @Test func anAttemptCanBeCancelled() async throws {
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

/// A port on 127.0.0.1 that never answers: its queue of connections is full, and the kernel drops what comes.
final class FullQueue {
    let port: Int
    private var sockets: [Int32] = []

    init() throws {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(server, address, length) == 0, listen(server, 0) == 0,
                    getsockname(server, address, &length) == 0
                else { return 0 }
                return Int(UInt16(bigEndian: pointer.pointee.sin_port))
            }
        }
        sockets = [server]
        guard port > 0 else { throw POSIXError(.EADDRINUSE) }
        // One more than the queue holds (listen(2)), none of which is accepted.
        for _ in 0..<2 {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            sockets.append(client)
            withUnsafePointer(to: &address) { pointer in
                _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, length) }
            }
        }
    }

    /// Waits until a client has tried to connect in vain (/proc/net/tcp: state 02 is SYN_SENT).
    func isTried() async throws {
        let remote = String(format: "0100007F:%04X", port)
        let own = Set(sockets.map(Self.localAddress))
        try await eventually("a client tries in vain") {
            let table = try FileHandle(forReadingAtPath: "/proc/net/tcp")?.readToEnd() ?? Data()
            return String(decoding: table, as: UTF8.self).split(separator: "\n").contains { line in
                let fields = line.split(separator: " ").map(String.init)
                // Those above may wait or not: that depends on how soon the kernel has counted the first of them.
                return fields.count > 3 && fields[2] == remote && fields[3] == "02" && !own.contains(fields[1])
            }
        }
    }

    /// As /proc/net/tcp writes it.
    private static func localAddress(of socket: Int32) -> String {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
        }
        return String(format: "0100007F:%04X", UInt16(bigEndian: address.sin_port))
    }

    func close() { for socket in sockets { Glibc.close(socket) } }
}
