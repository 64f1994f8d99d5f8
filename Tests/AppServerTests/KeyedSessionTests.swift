import AgentModel
import AppProtocol
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
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
        let door = Door(deviceId: DeviceKey.sample.deviceId, certificate: .sample, keys: directory)
        try await withNetworkServer(device, notices: notices, door: door) { server, port async throws in
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
        let door = Door(deviceId: DeviceKey.sample.deviceId, certificate: .sample, keys: TestKeys([ended]))
        try await withNetworkServer(notices: notices, door: door) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port, opens: false)
            let greeting = try Greeting(line: Array(try #require(await client.line()).utf8))
            let transcript = SessionTranscript(
                deviceId: door.deviceId, certificate: DeviceCertificate.sample.fingerprint,
                deviceNonce: greeting.nonce, appNonce: .random())
            let opening = SessionRequest(
                deviceId: door.deviceId, key: ended.name, nonce: transcript.appNonce,
                proof: transcript.proof(of: .app, with: ended.secret))
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
                deviceId: Door.sample.deviceId, certificate: DeviceCertificate.sample.fingerprint,
                deviceNonce: greeting.nonce, appNonce: .random())
            let opening = SessionRequest(
                deviceId: Door.sample.deviceId, key: .owner, nonce: transcript.appNonce,
                proof: transcript.proof(of: .app, with: DeviceKey.sample.localKey))
            let line = try Request(id: "o", content: .open(opening)).line() + [10]
            try await client.send(line + request(.getNetwork, id: "1").utf8 + request(.getNetwork, id: "2").utf8)
            for id in ["o", "1", "2"] { #expect(try answer(await client.line()) == (id, nil)) }
            // A second time it is refused, and the session stays.
            try await client.send(line)
            #expect(try answer(await client.line()) == ("o", .unsupported))
            #expect(try await client.ask() == nil)
        }
    }

    @Test(arguments: [request(.getNetwork), "GET /altnet HTTP/1.1\r\n\r\n", "{}\n", String(repeating: "a", count: 2000)])
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

/// The same lines in a WebSocket, with NIO's client.
@Suite struct WebSocketTests {
    @Test func linesAreMessages() async throws {
        let device = FakeDevice()
        try await withNetworkServer(device) { _, port async throws in
            let socket = try await TestWebSocket(port: port)
            let greeting = try Greeting(line: Array(try #require(await socket.next()).utf8))
            let transcript = SessionTranscript(
                deviceId: Door.sample.deviceId, certificate: DeviceCertificate.sample.fingerprint,
                deviceNonce: greeting.nonce, appNonce: .random())
            let opening = SessionRequest(
                deviceId: Door.sample.deviceId, key: .owner, nonce: transcript.appNonce,
                proof: transcript.proof(of: .app, with: DeviceKey.sample.localKey))
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

    @Test(arguments: ["/", "/other", "/altnet/x"]) func otherPathsAreNone(path: String) async throws {
        try await withNetworkServer { _, port async throws in
            await #expect(throws: (any Error).self) { try await TestWebSocket(port: port, path: path) }
            #expect(try await KeyedClient.connecting(to: port).ask() == nil)
        }
    }
}

/// A WebSocket as an app has it.
private final class TestWebSocket: Sendable {
    private let channel: any Channel
    private let received: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation

    init(port: Int, path: String = "/altnet") async throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.applicationProtocols = ["http/1.1"]
        let context = try NIOSSLContext(configuration: configuration)
        let (received, continuation) = AsyncStream.makeStream(of: String.self)
        (self.received, self.continuation) = (received, continuation)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let upgraded = loop.makePromise(of: Void.self)
        let upgrader = NIOWebSocketClientUpgrader(
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Messages(continuation))
                    upgraded.succeed()
                }
            })
        channel = try await ClientBootstrap(group: loop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(try NIOSSLClientHandler(context: context, serverHostname: nil))
                    let bound = NIOLoopBound(UpgradeRequest(path, upgraded), eventLoop: channel.eventLoop)
                    try pipeline.addHTTPClientHandlers(
                        withClientUpgrade: (
                            upgraders: [upgrader],
                            completionHandler: { _ in
                                channel.pipeline.syncOperations.removeHandler(bound.value, promise: nil)
                            }
                        ))
                    try pipeline.addHandler(bound.value)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        try await upgraded.futureResult.get()
    }

    func next() async throws -> String? {
        for await message in received { return message }
        return nil
    }

    /// In two frames, masked as a client has to.
    func send(_ text: String) async throws {
        let half = text.utf8.count / 2
        let parts = [Array(text.utf8.prefix(half)), Array(text.utf8.dropFirst(half))]
        for (number, part) in parts.enumerated() {
            let frame = WebSocketFrame(
                fin: number == 1, opcode: number == 0 ? .text : .continuation, maskKey: [1, 2, 3, 4],
                data: ByteBuffer(bytes: part))
            try await channel.writeAndFlush(frame)
        }
    }

    func close() async throws {
        let frame = WebSocketFrame(
            fin: true, opcode: .connectionClose, maskKey: [1, 2, 3, 4], data: ByteBuffer(bytes: [3, 232]))
        try await channel.writeAndFlush(frame)
    }

    private final class Messages: ChannelInboundHandler {
        typealias InboundIn = WebSocketFrame
        private let continuation: AsyncStream<String>.Continuation

        init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let frame = unwrapInboundIn(data)
            if frame.opcode == .text { continuation.yield(String(buffer: frame.unmaskedData)) }
            if frame.opcode == .connectionClose { continuation.finish() }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { print("DEBUGWS", error) }

        func channelInactive(context: ChannelHandlerContext) { print("DEBUGWS inactive"); continuation.finish() }
    }

    private final class UpgradeRequest: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPClientResponsePart
        typealias OutboundOut = HTTPClientRequestPart
        private let path: String
        private let upgraded: EventLoopPromise<Void>

        init(_ path: String, _ upgraded: EventLoopPromise<Void>) { (self.path, self.upgraded) = (path, upgraded) }

        func channelActive(context: ChannelHandlerContext) {
            let head = HTTPRequestHead(
                version: .http1_1, method: .GET, uri: path, headers: ["Host": "device", "Content-Length": "0"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) { upgraded.fail(ChannelError.eof) }

        func channelInactive(context: ChannelHandlerContext) { upgraded.fail(ChannelError.eof) }
    }
}
