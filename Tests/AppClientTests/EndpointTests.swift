import AgentModel
import AppClient
import AppProtocol
import NIOCore
import NIOPosix
import Testing

/// Addresses without a device.
@Suite(.timeLimit(.minutes(10))) struct EndpointTests {
    private func endpoint(_ host: String, port: Int = 1) throws -> Endpoint {
        .network(host: host, port: port, device: try DeviceKey(deviceId: "board-1", localKey: Secret(Array(0...15))))
    }

    @Test(arguments: ["127.0.0.1", "::1", "localhost"])
    func nothingListens(host: String) async throws {
        let endpoint = try endpoint(host)
        await #expect(throws: ClientError.unreachable(endpoint)) { try await DeviceClient(connectingTo: endpoint) }
    }

    /// The zone of an address is understood; where there is no such interface, the address is none.
    @Test func aLinkLocalAddressHasItsZone() async throws {
        let unknown = try endpoint("fe80::1%none0")
        await #expect(throws: ClientError.unresolvable(unknown)) { try await DeviceClient(connectingTo: unknown) }
        let error = await #expect(throws: ClientError.self) {
            try await DeviceClient(connectingTo: endpoint("fe80::1%lo"), timeout: .seconds(2))
        }
        #expect(error != .unresolvable(try endpoint("fe80::1%lo")))
    }

    @Test(arguments: ["a b", "..", "[::1]"])
    func noHost(host: String) async throws {
        let endpoint = try endpoint(host)
        await #expect(throws: ClientError.unresolvable(endpoint)) { try await DeviceClient(connectingTo: endpoint) }
    }

    @Test(arguments: [("", 80), ("127.0.0.1", 0), ("127.0.0.1", 65_536), ("127.0.0.1", -1), ("a\0b", 80)])
    func noEndpoint(host: String, port: Int) async throws {
        let error = await #expect(throws: ClientError.self) {
            try await DeviceClient(connectingTo: endpoint(host, port: port))
        }
        guard case .connectFailed = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", #"{"v":1,"ok":false}"# + "\n"])
    func noTLS(greeting: String) async throws {
        try await withListener(logging: greeting) { port in
            let endpoint = try endpoint("127.0.0.1", port: port)
            await #expect(throws: ClientError.notADevice(endpoint)) { try await DeviceClient(connectingTo: endpoint) }
        }
    }

    @Test func aConnectionThatEndsBeforeItIsSecured() async throws {
        try await withListener(logging: nil) { port in
            let endpoint = try endpoint("127.0.0.1", port: port)
            await #expect(throws: ClientError.turnedAway(endpoint)) { try await DeviceClient(connectingTo: endpoint) }
        }
    }

    @Test func aHandshakeThatDoesNotEndIsNotWaitedForForever() async throws {
        try await withListener(logging: "") { port in
            let endpoint = try endpoint("127.0.0.1", port: port)
            await #expect(throws: ClientError.timedOut) {
                try await DeviceClient(connectingTo: endpoint, timeout: .milliseconds(50))
            }
        }
    }

    @Test func connectingCanBeCancelled() async throws {
        try await withListener(logging: "") { port in
            let endpoint = try endpoint("127.0.0.1", port: port)
            let connecting = Task { try await DeviceClient(connectingTo: endpoint, timeout: .seconds(60)) }
            connecting.cancel()
            await #expect(throws: ClientError.cancelled) { try await connecting.value }
        }
    }

    @Test func whatIsSaidOfAnEndpointHasNoKeyInIt() throws {
        let key = Secret(text: "very secret key!")
        let endpoint = Endpoint.network(host: "fe80::1%lo", device: try DeviceKey(deviceId: "b", localKey: key))
        for error in [
            ClientError.unreachable(endpoint), .unresolvable(endpoint), .keyRefused(endpoint), .notADevice(endpoint),
            .turnedAway(endpoint), .connectFailed(endpoint, errno: 1), .notPermitted(endpoint),
        ] {
            var dumped = ""
            dump(error, to: &dumped)
            for text in ["\(error)", String(reflecting: error), dumped] {
                #expect(!text.contains("secret key"))
                #expect(!text.contains(key.withBytes { $0.map { String($0) }.joined(separator: ", ") }))
            }
            #expect("\(error)".contains("[fe80::1%lo]") || "\(error)".contains("fe80::1%lo, port"))
        }
    }

    /// Runs `body` with a port that answers each connection with `greeting`, with nothing, or, if nil, by closing it.
    private func withListener(logging greeting: String?, _ body: (Int) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup.singleton
        let listener = try await ServerBootstrap(group: group)
            .childChannelInitializer { channel in
                guard let greeting else { return channel.close() }
                guard !greeting.isEmpty else { return channel.eventLoop.makeSucceededVoidFuture() }
                channel.eventLoop.execute {
                    channel.writeAndFlush(ByteBuffer(string: greeting), promise: nil)
                }
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { listener.close(promise: nil) }
        try await body(try #require(listener.localAddress?.port))
    }
}

@Suite struct DeviceAddressTests {
    @Test(arguments: [
        ("lamp", "lamp", 25_863), ("lamp.local:4000", "lamp.local", 4000), ("192.168.1.5:1", "192.168.1.5", 1),
        ("[fe80::1%wlan0]:65535", "fe80::1%wlan0", 65_535), ("[::1]", "::1", 25_863),
        ("büro.example", "büro.example", 25_863),
    ])
    func anAddress(text: String, host: String, port: Int) throws {
        let address = try DeviceAddress(text)
        #expect(address.host == host)
        #expect(address.port == port)
    }

    @Test(arguments: [
        "", ":1", "lamp:", "lamp:0", "lamp:65536", "lamp:+1", "lamp:1x", "lamp:99999999999999999999", "::1",
        "fe80::1:25863",
        "[lamp]", "[::1", "[::1]x", "[::1]4000", "[]", "[fe80::1%]", "[fe80::1%0123456789abcdef]", "a b", "a/b",
        "u@lamp",
        "-lamp", "la\u{1b}mp", String(repeating: "a", count: 254),
    ])
    func noAddress(text: String) {
        #expect(throws: InvalidDeviceAddress.self) { try DeviceAddress(text) }
    }
}
