import AgentModel
import AppProtocol
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TestTime
import Testing

@testable import AppServer

/// Sessions that are opened with the keys of apps: what each may do, and when they end.
@Suite struct KeyedSessionTests {
    private static func key(
        _ name: String, _ role: Role, byte: UInt8 = 1, state: AppKey.State = .valid, isInvitation: Bool = false
    ) -> AppKey {
        guard let name = KeyName(name) else { preconditionFailure("no name") }
        return AppKey(
            name: name, secret: Secret(Array(repeating: byte, count: 32)), role: role, state: state,
            isInvitation: isInvitation)
    }

    private func withKeys(
        _ keys: [AppKey], device: FakeDevice = FakeDevice(), notices: Notices = Notices(),
        _ body: (AppServer, TestKeys, _ connect: (AppKey) async throws -> KeyedClient) async throws -> Void
    ) async throws {
        let directory = TestKeys(keys)
        let credentials = AppCredentials(deviceId: DeviceKey.sample.deviceId, certificate: .sample, keys: directory)
        try await withNetworkServer(device, notices: notices, credentials: credentials) { server, port async throws in
            try await body(server, directory) { key in
                let device = try DeviceKey(
                    deviceId: DeviceKey.sample.deviceId, localKey: key.secret, name: key.name)
                return try await KeyedClient.connecting(to: port, as: device)
            }
        }
    }

    @Test(arguments: Role.allCases) func aRoleMayDoItsOwn(role: Role) async throws {
        let device = FakeDevice()
        try await withKeys([Self.key("app", role)], device: device) { _, keys, connect in
            let client = try await connect(keys.all[0])
            for type in [MessageType.getNetwork, .startScan, .setProvider, .getKeys] {
                try await client.send(request(type, body: #"{"provider":"p","on":true}"#))
                let code = try answer(await client.line()).code
                #expect(code == (type.role <= role ? nil : .notPermitted), "\(type)")
            }
        }
        #expect(device.peers.allSatisfy { $0.key == KeyName("app") && $0.role == role })
    }

    @Test func anInvitationIsGoodForOneThing() async throws {
        try await withKeys([Self.key("guest", .manage, isInvitation: true)]) { _, keys, connect in
            let client = try await connect(keys.all[0])
            for type in [MessageType.getNetwork, .getKeys, .subscribe, .startScan] {
                try await client.send(request(type))
                #expect(try answer(await client.line()).code == .notPermitted, "\(type)")
            }
            for (type, code) in [(MessageType.getCapabilities, nil), (.claimKey, ErrorCode.unsupported)] {
                try await client.send(request(type))
                #expect(try answer(await client.line()).code == code)
            }
        }
    }

    @Test func nobodyElseClaims() async throws {
        try await withKeys([Self.key("app", .manage)]) { _, keys, connect in
            let client = try await connect(keys.all[0])
            try await client.send(request(.claimKey))
            #expect(try answer(await client.line()).code == .notPermitted)
        }
    }

    @Test(arguments: [(AppKey.State.expired, ErrorCode.keyExpired), (.revoked, .keyRevoked)])
    func whatHasEndedOpensNothing(state: AppKey.State, code: ErrorCode) async throws {
        let notices = Notices()
        let ended = Self.key("app", .manage, state: state)
        let credentials = AppCredentials(
            deviceId: DeviceKey.sample.deviceId, certificate: .sample, keys: TestKeys([ended]))
        try await withNetworkServer(notices: notices, credentials: credentials) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port, opens: false)
            let greeting = try Greeting(line: Array(try #require(await client.line()).utf8))
            let transcript = SessionTranscript(
                deviceId: credentials.deviceId, certificate: DeviceCertificate.sample.fingerprint,
                deviceNonce: greeting.nonce, appNonce: .random())
            let opening = transcript.opening(named: ended.name, with: ended.secret)
            try await client.send(Request(id: "o", content: .open(opening)).line() + [10])
            #expect(try answer(await client.line()) == ("o", code))
            #expect(try await client.line() == nil)
            // It is no wrong key, for which the next one would wait.
            #expect(notices.failures == [.endedKey])
        }
    }

    @Test func revokingEndsTheSessionsOfOneKey() async throws {
        let notices = Notices()
        let keys = [Self.key("lost", .manage), Self.key("kept", .see, byte: 2)]
        try await withKeys(keys, notices: notices) { server, directory, connect in
            let (lost, kept) = (try await connect(keys[0]), try await connect(keys[1]))
            #expect(try await lost.ask() == nil)
            #expect(try await kept.ask() == nil)
            #expect(server.sessions == [keys[0].name: 1, keys[1].name: 1])
            directory.end(keys[0].name)
            server.endSessions(of: keys[0].name)
            #expect(try await lost.line() == nil)
            #expect(try await kept.ask() == nil)
            #expect(try await connect(keys[0]).line() == nil)
        }
        #expect(notices.reasons == [.keyEnded])
    }

    /// What comes in the same packet as the proof is answered.
    @Test func requestsMayFollowTheProofAtOnce() async throws {
        try await withNetworkServer { _, port async throws in
            let client = try await KeyedClient.connecting(to: port, opens: false)
            let greeting = try Greeting(line: Array(try #require(await client.line()).utf8))
            let transcript = SessionTranscript(
                deviceId: AppCredentials.sample.deviceId, certificate: DeviceCertificate.sample.fingerprint,
                deviceNonce: greeting.nonce, appNonce: .random())
            let opening = transcript.opening(with: DeviceKey.sample.localKey)
            let line = try Request(id: "o", content: .open(opening)).line() + [10]
            try await client.send(line + request(.getNetwork, id: "1").utf8 + request(.getNetwork, id: "2").utf8)
            for id in ["o", "1", "2"] { #expect(try answer(await client.line()) == (id, nil)) }
            // A second time it is refused, and the session stays.
            try await client.send(line)
            #expect(try answer(await client.line()) == ("o", .unsupported))
            #expect(try await client.ask() == nil)
        }
    }

    @Test(arguments: [
        request(.getNetwork), "GET /altnet HTTP/1.1\r\n\r\n", "{}\n", String(repeating: "a", count: 2000),
    ])
    func anotherFirstLineEndsIt(text: String) async throws {
        let device = FakeDevice()
        try await withNetworkServer(device) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port, opens: false)
            _ = try await client.line()
            try await client.send(text)
            while let line = try await client.line() { #expect(try answer(line).code != nil) }
        }
        #expect(device.bodies.isEmpty)
    }

    /// The time for a handshake goes on until the proof is there.
    @Test func whoProvesNothingIsGivenUp() async throws {
        let clock = SteppedClock()
        let notices = Notices()
        try await withNetworkServer(clock: clock, notices: notices) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port, opens: false)
            _ = try await client.line()
            try await clock.sleeps(for: .seconds(10))
            clock.advance(by: .seconds(10))
            #expect(try await client.line() == nil)
        }
        #expect(notices.failures == [.tookTooLong])
    }
}

/// Keys that a test ends.
final class TestKeys: AppKeyDirectory {
    let all: [AppKey]
    private let ended = Mutex<Set<KeyName>>([])

    init(_ keys: [AppKey]) { all = keys }

    func end(_ name: KeyName) { ended.withLock { _ = $0.insert(name) } }

    func key(named name: KeyName) -> AppKey? {
        guard let key = all.first(where: { $0.name == name }) else { return nil }
        let hasEnded = ended.withLock { $0.contains(name) }
        return AppKey(
            name: key.name, secret: key.secret, role: key.role, state: hasEnded ? .revoked : key.state,
            isInvitation: key.isInvitation)
    }
}

/// The same lines in a WebSocket.
@Suite struct WebSocketTests {
    @Test func linesAreMessages() async throws {
        let device = FakeDevice()
        try await withNetworkServer(device) { _, port async throws in
            let socket = try await TestWebSocket(port: port)
            let greeting = try Greeting(line: Array(try #require(await socket.next()).utf8))
            let transcript = SessionTranscript(
                deviceId: AppCredentials.sample.deviceId, certificate: DeviceCertificate.sample.fingerprint,
                deviceNonce: greeting.nonce, appNonce: .random())
            let opening = transcript.opening(with: DeviceKey.sample.localKey)
            try await socket.send(String(decoding: Request(id: "o", content: .open(opening)).line(), as: UTF8.self))
            #expect(try answer(await socket.next()) == ("o", nil))
            for id in ["1", "2"] {
                try await socket.send(String(request(.getNetwork, id: id).dropLast()))
                #expect(try answer(await socket.next()) == (id, nil))
            }
            try await socket.close()
            #expect(try await socket.next() == nil)
        }
        #expect(device.bodies == [.getNetwork, .getNetwork])
    }

    @Test func withoutAKeyThereIsNoAnswer() async throws {
        try await withNetworkServer { _, port async throws in
            let socket = try await TestWebSocket(port: port)
            _ = try await socket.next()
            try await socket.send(String(request(.getNetwork).dropLast()))
            #expect(try answer(await socket.next()) == ("a", .proofRequired))
            #expect(try await socket.next() == nil)
        }
    }

    /// Control frames count: a client that pings and does not read would fill the memory of the agent with pongs.
    @Test func framesBeforeTheProofAreLimited() async throws {
        try await withNetworkServer { _, port async throws in
            let socket = try await TestWebSocket(port: port)
            _ = try await socket.next()
            try await socket.ping(times: 1000)
            #expect(try await socket.hasBeenClosed(beforePongs: 1000))
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
    }

    /// The limit before the proof loses nothing of a client that asks in the breath in which it shows its key.
    @Test func requestsBehindTheProofAreAnswered() async throws {
        try await withNetworkServer { _, port async throws in
            let socket = try await TestWebSocket(port: port)
            let greeting = try Greeting(line: Array(try #require(await socket.next()).utf8))
            let transcript = SessionTranscript(
                deviceId: AppCredentials.sample.deviceId, certificate: DeviceCertificate.sample.fingerprint,
                deviceNonce: greeting.nonce, appNonce: .random())
            let opening = transcript.opening(with: DeviceKey.sample.localKey)
            let ids = (1...50).map(String.init)
            try await socket.send(
                [String(decoding: Request(id: "o", content: .open(opening)).line(), as: UTF8.self)]
                    + ids.map { String(request(.getNetwork, id: $0).dropLast()) })
            for id in ["o"] + ids { #expect(try answer(await socket.next()) == (id, nil)) }
        }
    }

    @Test(arguments: ["/", "/other", "/altnet/x"]) func otherPathsAreNone(path: String) async throws {
        try await withNetworkServer { _, port async throws in
            await #expect(throws: (any Error).self) { try await TestWebSocket(port: port, path: path) }
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
    }
}

/// A WebSocket as an app has it, byte by byte (RFC 6455, clause 5.2).
private final class TestWebSocket: Sendable {
    private struct State {
        var received: [UInt8] = []
        var hasEnded = false
    }

    private let channel: any Channel
    private let state: Observed<State>

    /// - Throws: where the device does not upgrade.
    init(port: Int, path: String = "/altnet") async throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.applicationProtocols = ["http/1.1"]
        let context = try NIOSSLContext(configuration: configuration)
        let state = Observed(State())
        self.state = state
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        try NIOSSLClientHandler(context: context, serverHostname: nil), Collector(state),
                    ])
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        let request = """
            GET \(path) HTTP/1.1\r\nHost: device\r\nUpgrade: websocket\r\nConnection: Upgrade\r
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n
            """
        try await channel.writeAndFlush(ByteBuffer(string: request))
        let answer = try await state.next("an answer to the upgrade") { state -> String? in
            let text = String(decoding: state.received, as: UTF8.self)
            guard let end = text.range(of: "\r\n\r\n") else { return state.hasEnded ? text : nil }
            state.received.removeFirst(text[..<end.upperBound].utf8.count)
            return String(text[..<end.lowerBound])
        }
        // RFC 6455, clause 1.3.
        guard answer.hasPrefix("HTTP/1.1 101"), answer.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") else {
            throw ChannelError.eof
        }
    }

    /// The next message; nil where the device has closed.
    func next() async throws -> String? {
        try await state.next("a message") { state -> String?? in
            let bytes = state.received
            guard bytes.count >= 2, bytes[0] != 0x88 else {
                return state.hasEnded || bytes.first == 0x88 ? .some(nil) : nil
            }
            let isLong = bytes[1] == 126
            guard bytes.count >= (isLong ? 4 : 2) else { return nil }
            let start = isLong ? 4 : 2
            let count = isLong ? Int(bytes[2]) << 8 | Int(bytes[3]) : Int(bytes[1])
            guard bytes[0] == 0x81, bytes.count >= start + count else { return nil }
            state.received.removeFirst(start + count)
            return String(decoding: bytes[start..<start + count], as: UTF8.self)
        }
    }

    /// In two frames, masked as a client has to.
    func send(_ text: String) async throws {
        let (bytes, half) = (Array(text.utf8), text.utf8.count / 2)
        try await send(0x01, bytes[..<half])
        try await send(0x80, bytes[half...])
    }

    /// All in one write, a frame each.
    func send(_ texts: [String]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: texts.flatMap { Self.frame(0x81, Array($0.utf8)[...]) }))
    }

    /// Without content, in one write.
    func ping(times count: Int) async throws {
        let ping: [UInt8] = [0x89, 0x80, 1, 2, 3, 4]
        try? await channel.writeAndFlush(ByteBuffer(bytes: Array(repeating: ping, count: count).joined()))
    }

    /// - Returns: whether the device ended the connection before it sent that many pongs.
    func hasBeenClosed(beforePongs count: Int) async throws -> Bool {
        try await state.next("the end, or the pongs") { state -> Bool? in
            let pongs = state.received.count { $0 == 0x8a }
            return state.hasEnded || pongs >= count ? pongs < count : nil
        }
    }

    func close() async throws { try await send(0x88, [3, 232]) }

    private func send(_ head: UInt8, _ content: ArraySlice<UInt8>) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: Self.frame(head, content)))
    }

    private static func frame(_ head: UInt8, _ content: ArraySlice<UInt8>) -> [UInt8] {
        let mask: [UInt8] = [1, 2, 3, 4]
        let length = [0xfe, UInt8(content.count >> 8 & 0xff), UInt8(content.count & 0xff)]
        return [head] + length + mask + content.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let state: Observed<State>

        init(_ state: Observed<State>) { self.state = state }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = unwrapInboundIn(data).readableBytesView
            state.change { $0.received += bytes }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        func channelInactive(context: ChannelHandlerContext) { state.change { $0.hasEnded = true } }
    }
}
