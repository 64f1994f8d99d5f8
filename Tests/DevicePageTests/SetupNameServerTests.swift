import AgentModel
import AppServer
import DNS
import Glibc
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import DevicePage

/// The name server on a real socket.
@Suite(.timeLimit(.minutes(10))) struct NameServerTests {
    /// One phone that asks without end gets no more than its share, and another one is answered.
    @Test func aFloodIsDropped() async throws {
        let place = try #require(IPAddress("127.0.0.1"))
        let channel = try await SetupNameServer.bind(
            NameAnswers(address: [192, 168, 73, 1]), at: place, port: 0, clock: ServerClock(ContinuousClock()),
            on: MultiThreadedEventLoopGroup.singleton.any(), prepare: { _ in })
        let port = try #require(channel.localAddress?.port)
        let question = DNSMessage(
            asking: [DNSQuestion(try #require(DNSName("captive.apple.com")), .ipv4)], id: 1, recursively: true)
        let bytes = Array(question.query)
        let start = ContinuousClock.now
        let flood = try Phone(127, 0, 0, 2, port: port)
        for _ in 0..<5000 { flood.ask(bytes) }
        let other = try Phone(127, 0, 0, 3, port: port)
        // The kernel may have dropped a question as well: a phone asks again.
        var count = 0
        for _ in 0..<100 where count == 0 {
            other.ask(bytes)
            count = other.answers()
        }
        #expect(count >= 1)
        let answers = flood.answers()
        let seconds = Int((ContinuousClock.now - start).components.seconds)
        #expect((1...100 + 50 * (seconds + 1)).contains(answers), "\(answers) in \(seconds) s")
        try await channel.close()
    }

    /// Answers to a phone that is out of reach do not pile up.
    @Test func nothingIsAnsweredWhileTheLinkTakesNothing() throws {
        let loop = EmbeddedEventLoop()
        let server = SetupNameServer(
            NameAnswers(address: [192, 168, 73, 1]), clock: ServerClock(ContinuousClock()), on: loop)
        let channel = EmbeddedChannel(handler: server, loop: loop)
        let question = DNSMessage(
            asking: [DNSQuestion(try #require(DNSName("captive.apple.com")), .ipv4)], id: 1, recursively: true)
        let envelope = AddressedEnvelope(
            remoteAddress: try SocketAddress(ipAddress: "192.168.73.60", port: 40_000),
            data: ByteBuffer(bytes: question.query))
        func answers() throws -> Int {
            var count = 0
            for _ in 0..<10 { try channel.writeInbound(envelope) }
            while try channel.readOutbound(as: AddressedEnvelope<ByteBuffer>.self) != nil { count += 1 }
            return count
        }
        channel.isWritable = false
        #expect(try answers() == 0)
        channel.isWritable = true
        #expect(try answers() == 10)
    }

    /// A socket of one address.
    private final class Phone {
        private let socket: Int32

        init(_ bytes: UInt8..., port: Int) throws {
            socket = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
            try #require(Self.call(bytes, port: 0) { bind(socket, $0, $1) } == 0)
            try #require(Self.call([127, 0, 0, 1], port: port) { connect(socket, $0, $1) } == 0)
        }

        deinit { close(socket) }

        func ask(_ question: [UInt8]) { _ = send(socket, question, question.count, 0) }

        /// How many answers come until none has come for 200 ms.
        func answers() -> Int {
            var (count, buffer) = (0, [UInt8](repeating: 0, count: 512))
            while true {
                var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                guard poll(&entry, 1, 200) == 1,
                    recv(socket, &buffer, buffer.count, 0) > 0
                else { return count }
                count += 1
            }
        }

        private static func call(
            _ bytes: [UInt8], port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
        ) -> Int32 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
    }
}
