import NIOCore
import NIOEmbedded
import NIOTLS
import Randomness
import Synchronization
import Testing

@testable import Connectivity

/// The messages and their times, by a clock that the test advances.
struct ConnectionHandlerTests {
    private let loop = EmbeddedEventLoop()
    private let told = Told()

    private func channel(_ setting: String) throws -> EmbeddedChannel { try told.channel(setting, on: loop) }

    private func said(_ channel: EmbeddedChannel) throws -> [UInt8]? { try channel.said() }

    @Test func aPlainTargetIsOpenAtOnceAndNothingIsSaid() throws {
        let channel = try channel("a=192.0.2.1:1883")
        #expect(told.all == ["connected", "opened"])
        loop.advanceTime(by: .hours(24))
        #expect(try said(channel) == nil)
        #expect(channel.isActive)
        try channel.close().wait()
        #expect(told.all == ["connected", "opened", "ended in order"])
    }

    @Test func anMQTTServerIsPingedAndMustAnswer() throws {
        let channel = try channel("a=mqtt://192.0.2.1:1883")
        #expect(told.all == ["connected"], "a silent server proves nothing")
        #expect(try said(channel)?.first == 0x10)
        try channel.writeInbound(ByteBuffer(bytes: [0x20, 2, 0, 0]))
        #expect(told.all == ["connected", "opened"])
        for _ in 0..<5 {
            loop.advanceTime(by: .milliseconds(29_999))
            #expect(try said(channel) == nil)
            loop.advanceTime(by: .milliseconds(1))
            #expect(try said(channel) == [0xc0, 0])
            loop.advanceTime(by: .milliseconds(4999))
            try channel.writeInbound(ByteBuffer(bytes: [0xd0, 0]))
        }
        loop.advanceTime(by: .seconds(30))
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(5))
        #expect(!channel.isActive)
        #expect(told.all == ["connected", "opened", "ended: timedOut"])
    }

    @Test func aServerThatDoesNotAnswerInTimeIsLeft() throws {
        let channel = try channel("a=http://192.0.2.1:80")
        #expect(try said(channel)?.starts(with: "HEAD / ".utf8) == true)
        try channel.writeInbound(ByteBuffer(string: "HTTP/1.1 2"))
        loop.advanceTime(by: .milliseconds(9999))
        #expect(channel.isActive)
        loop.advanceTime(by: .milliseconds(1))
        #expect(told.all == ["connected", "ended: timedOut"])
    }

    @Test func anEndBeforeTheAnswerIsNoAnswer() throws {
        let channel = try channel("a=http://192.0.2.1:80")
        try channel.close().wait()
        #expect(told.all == ["connected", "ended: connectionReset"])
    }

    @Test func wrongAnswersEndIt() throws {
        let channel = try channel("a=mqtt://192.0.2.1:1883")
        try channel.writeInbound(ByteBuffer(string: "SSH-2.0"))
        #expect(told.all == ["connected", "ended: unexpectedAnswer"])
    }

    @Test func theFirstErrorIsTheReason() throws {
        let channel = try channel("a=192.0.2.1:1883")
        channel.pipeline.fireErrorCaught(IOError(errnoCode: 110, reason: "read"))
        channel.pipeline.fireErrorCaught(IOError(errnoCode: 104, reason: "read"))
        loop.run()
        #expect(told.all == ["connected", "opened", "ended: timedOut"])
    }
}

/// Answers of servers, and bytes that are none.
struct ServerPingTests {
    private let loop = EmbeddedEventLoop()
    private let told = Told()

    private func hear(_ bytes: some Sequence<UInt8>, on channel: EmbeddedChannel) {
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    @Test func asksForTheHead() throws {
        let hello = try told.channel("a=http://[2001:db8::1]:8080").said()
        #expect(
            String(decoding: hello ?? [], as: UTF8.self)
                == "HEAD / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\nUser-Agent: altnet\r\nAccept: */*\r\n\r\n")
    }

    @Test(arguments: [
        "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 500 \r\nA: b\r\n\r\n", "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.1 404 Not Found\n\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 405 Not Allowed\r\nAllow: GET\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ])
    func anyAnswerOfHTTPWillDo(text: String) throws {
        let channel = try told.channel("a=http://h:80", on: loop)
        let bytes = Array(text.utf8)
        // In whatever pieces it comes, it is complete with its last byte.
        for byte in bytes.dropLast() { hear([byte], on: channel) }
        #expect(told.all == ["connected"])
        hear(bytes.suffix(1), on: channel)
        #expect(told.all == ["connected", "opened"])
        // And again, whatever else comes behind the answer and in between.
        for _ in 0..<3 {
            hear(Array("<html>\n".utf8), on: channel)
            loop.advanceTime(by: .seconds(30))
            hear(bytes + Array("HTTP/1.1 garbage\n\n".utf8), on: channel)
        }
        loop.advanceTime(by: .seconds(5))
        #expect(channel.isActive && told.all == ["connected", "opened"])
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1-200 OK\r\n\r\n", "HTTP/1.x 200 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "<html>",
        "HTTP/1.1 101 Switching\r\n\r\n", "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 1400) + "\r\n",
        "HTTP/1.1 200 OK\r\nA: " + String(repeating: "b", count: 8192),
        "HTTP/1.1 200 " + String(repeating: "O", count: 8192),
        String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 400),
    ])
    func whatIsNoHTTPIsRefused(text: String) throws {
        let channel = try told.channel("a=http://h:80")
        hear(Array(text.utf8), on: channel)
        #expect(told.all == ["connected", "ended: unexpectedAnswer"])
        #expect(!channel.isActive)
    }

    /// A device in between says these in the server's place; a server that has proved its identity by TLS may say them
    /// too.
    @Test(arguments: ["300 Choices", "302 Found", "307 Temporary Redirect", "399 x", "511 Authentication Required"])
    func whatPortalsSayIsNoAnswerButOfTheServerItself(status: String) throws {
        let answer = Array("HTTP/1.1 \(status)\r\nLocation: http://portal.example/\r\n\r\n".utf8)
        for interim in ["", "HTTP/1.1 103 Hints\r\n\r\n"] {
            let told = Told()
            hear(Array(interim.utf8) + answer, on: try told.channel("a=http://h:80"))
            #expect(told.all == ["connected", "ended: unexpectedAnswer"])
        }
        hear(answer, on: try told.channel("a=https://h:443"))
        #expect(told.all == ["connected", "opened"])
    }

    /// It is made anew when the next ping is due, instead of asking on it once more (RFC 9112, 9.6).
    @Test(arguments: ["HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n"])
    func aConnectionWhoseEndWasAnnouncedIsNotUsedAgain(answer: String) throws {
        let channel = try told.channel("a=http://h:80", on: loop)
        _ = try channel.said()
        hear(Array(answer.utf8), on: channel)
        loop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(1))
        #expect(try channel.said() == nil)
        #expect(told.all == ["connected", "opened", "ended in order"])
    }

    @Test func theEndInTheMiddleOfAnAnswerIsNone() throws {
        let channel = try told.channel("a=http://h:80")
        hear(Array("HTTP/1.1 200 OK\r\nA:".utf8), on: channel)
        try channel.close().wait()
        #expect(told.all == ["connected", "ended: connectionReset"])
    }

    /// Unasked bytes are read, up to a limit.
    @Test(arguments: ["http", "mqtt", "tcp"])
    func floodsEndIt(scheme: String) throws {
        let channel = try told.channel("a=\(scheme)://h:80")
        if scheme == "http" { hear(Array("HTTP/1.1 200 OK\r\n\r\n".utf8), on: channel) }
        if scheme == "mqtt" { hear([0x20, 2, 0, 0], on: channel) }
        hear(repeatElement(0x0a, count: AnswerGate.largestUnasked), on: channel)
        #expect(told.all == ["connected", "opened"])
        hear([0x0a], on: channel)
        #expect(told.all == ["connected", "opened", "ended in order"])
    }

    /// Nothing that a server says is more than an answer, no answer, or a wrong one.
    @Test func nothingThatIsSaidDoesHarm() throws {
        var random = SeededRandom(seed: 6)
        for _ in 0..<2000 {
            let start = Array("HTTP/1.1 2".utf8).prefix(Int.random(in: 0...10, using: &random))
            let noise = (0..<Int.random(in: 0...64, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let told = Told()
            hear(start + noise, on: try told.channel("a=http://h:80"))
            #expect(told.all.count <= 2)
            var mqtt = MQTTPackets(pingEvery: .seconds(30))
            _ = try? mqtt.receive([0x20] + noise)
        }
    }
}

struct MQTTPacketTests {
    @Test func saysHelloInMQTT() {
        // MQTT 3.1.1, 3.1: fixed header, protocol name, level, clean session, keep alive of 60 s, empty identifier.
        #expect(
            MQTTPackets(pingEvery: .seconds(30)).hello == [
                0x10, 0x0c, 0x00, 0x04, 0x4d, 0x51, 0x54, 0x54, 0x04, 0x02, 0x00, 0x3c, 0x00, 0x00,
            ])
        #expect(MQTTPackets(pingEvery: .seconds(100_000)).hello[10...11] == [0xff, 0xff])
        #expect(MQTTPackets(pingEvery: .seconds(30)).ping == [0xc0, 0x00])
    }

    @Test(arguments: [[0x20, 2, 0, 0], [0x20, 2, 0, 5], [0x20, 3, 0, 0x87, 0], [0x20, 0x82, 0, 0, 0]] as [[UInt8]])
    func anyConnectionAcknowledgementWillDo(packet: [UInt8]) throws {
        var packets = MQTTPackets(pingEvery: .seconds(30))
        for byte in packet.dropLast() { #expect(try !packets.receive([byte])) }
        #expect(try packets.receive(packet.suffix(1)))
        #expect(try packets.receive([0xd0, 0]))
        #expect(throws: UnexpectedAnswer()) { try packets.receive(packet) }
    }

    @Test(
        arguments: [
            [0xd0, 0], [0x30, 2, 0, 0], Array("HTTP/1.1".utf8), [0x20, 0x80, 0x80, 0x80, 0x80], [0x20, 0x81, 0x08],
            [0x20, 0xff, 0xff, 0xff, 0x7f],
        ] as [[UInt8]])
    func whatIsNoMQTTIsRefused(packet: [UInt8]) {
        var packets = MQTTPackets(pingEvery: .seconds(30))
        #expect(throws: UnexpectedAnswer()) { try packets.receive(packet) }
    }
}

private final class Told: Sendable {
    private let events = Mutex<[String]>([])

    var all: [String] { events.withLock { $0 } }

    /// A connection that is there, and on whose handler's reports this is told.
    func channel(_ setting: String, on loop: EmbeddedEventLoop = EmbeddedEventLoop()) throws -> EmbeddedChannel {
        let target = try Target(setting: setting)
        let channel = EmbeddedChannel(loop: loop)
        try channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 1883)).wait()
        try ConnectionHandler.add(
            to: channel.pipeline.syncOperations, target, keepAlive: KeepAlive(), deadline: loop.now + .seconds(10),
            report: { self.report($0) })
        if target.isTLS {
            channel.pipeline.fireUserInboundEventTriggered(TLSUserEvent.handshakeCompleted(negotiatedProtocol: nil))
        }
        return channel
    }

    func report(_ event: ConnectionHandler.Event) {
        let text =
            switch event {
            case .connected: "connected"
            case .opened: "opened"
            case .ended(let problem): problem.map { "ended: \($0)" } ?? "ended in order"
            }
        events.withLock { $0.append(text) }
    }
}

extension EmbeddedChannel {
    /// All that was sent since the last time.
    fileprivate func said() throws -> [UInt8]? {
        var bytes: [UInt8]?
        while let part = try readOutbound(as: ByteBuffer.self) { bytes = (bytes ?? []) + Array(part.readableBytesView) }
        return bytes
    }
}
