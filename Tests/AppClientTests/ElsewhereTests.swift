import AgentModel
import AppClient
import AppProtocol
import Foundation
import TestTime
import Testing

/// A device that the app reaches at one of two places. A script stands in for `altnet-mqtt tunnel`.
// covers: seed/user-app-developer
@Suite(.timeLimit(.minutes(10))) struct ElsewhereTests {
    private static let nowhere = Endpoint.network(host: "127.0.0.1", port: 1, device: Fixture.device)

    /// Runs `body` with a route whose program connects to the port, and prints its arguments to a file.
    private func withRoute(
        to port: Int, isolation: isolated (any Actor)? = #isolation,
        _ body: (_ route: BrokerRoute, _ arguments: () throws -> [String]) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "altnet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = folder.path + "/tunnel"
        let script = """
            #!/usr/bin/python3
            import os, select, socket, sys
            open("\(folder.path)/arguments", "w").write("\\n".join(sys.argv[1:]))
            app, device = socket.socket(fileno=0), socket.create_connection(("127.0.0.1", \(port)))
            while True:
                for ready in select.select([app, device], [], [])[0]:
                    data = ready.recv(16384)
                    if not data: sys.exit()
                    (device if ready is app else app).sendall(data)

            """
        try Data(script.utf8).write(to: URL(fileURLWithPath: program))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
        var route = BrokerRoute("mqtts://broker.example.com/home", user: "anna", secrets: "/tmp/secrets")
        route.program = program
        try await body(route) {
            try String(contentsOfFile: folder.path + "/arguments", encoding: .utf8).components(separatedBy: "\n")
        }
    }

    @Test func aURLHasThePrefix() {
        let route = BrokerRoute("mqtts://broker.example.com:8884/a/b")
        #expect(route.broker == "mqtts://broker.example.com:8884" && route.prefix == "a/b")
        for url in ["mqtt://broker", "mqtt://broker/"] {
            #expect(BrokerRoute(url).broker == "mqtt://broker" && BrokerRoute(url).prefix == "altnet")
        }
    }

    @Test func aPasswordInTheURLIsNeitherPassedNorShown() async throws {
        for url in ["mqtts://anna:hunter2@broker", "mqtts://anna:hunt/er2@broker"] {
            let endpoint = Endpoint.broker(BrokerRoute(url), device: Fixture.device)
            let error = await #expect(throws: ClientError.self) { try await DeviceClient(connectingTo: endpoint) }
            #expect(error == .connectFailed(endpoint, errno: EINVAL))
            let shown = "\(endpoint) \(error?.description ?? "")"
            #expect(!shown.contains("hunt"))
        }
    }

    @Test func aDeviceAtABrokerIsServedAsInTheNetwork() async throws {
        try await Fixture.with { fixture async throws in
            try await withRoute(to: fixture.relay.port) { route, arguments async throws in
                let client = try await DeviceClient(connectingTo: .broker(route, device: Fixture.device))
                #expect(try await client.capabilities().deviceId == Fixture.device.deviceId)
                #expect(client.role == .manage)
                let expected = [
                    "tunnel", "--broker=mqtts://broker.example.com", "--prefix=home", "--id=board-1", "--user=anna",
                    "--secrets=/tmp/secrets",
                ]
                #expect(try arguments() == expected)
                await client.close()
            }
        }
    }

    /// The second place is tried at once after a failure.
    @Test func theNetworkIsFirstAndTheBrokerSecond() async throws {
        try await Fixture.with { fixture async throws in
            try await withRoute(to: fixture.relay.port) { route, arguments async throws in
                let manager = DeviceNetworkManager(device: Fixture.device, broker: route, settings: .quick) {
                    [fixture.endpoint]
                }
                #expect(try await manager.getBackupWifiNetworks().max == 3)
                #expect((try? arguments()) == nil, "the device answers in the network")
                let elsewhere = DeviceNetworkManager(device: Fixture.device, broker: route, settings: .quick) {
                    [Self.nowhere]
                }
                #expect(try await elsewhere.getBackupWifiNetworks().max == 3)
                #expect(try arguments().first == "tunnel")
                let unknown = DeviceNetworkManager(device: Fixture.device, broker: route, settings: .quick) { [] }
                #expect(try await unknown.getBackupWifiNetworks().max == 3)
                for manager in [manager, elsewhere, unknown] { await manager.close() }
            }
        }
    }

    /// The session leaves the network and returns to it, each time after the loss of a connection.
    @Test func aLossLeadsBackToTheNetwork() async throws {
        try await Fixture.with { fixture async throws in
            try await withRoute(to: fixture.relay.port) { route, arguments async throws in
                let network = try await Relay(to: fixture.relay.port)
                let here = Endpoint.network(host: "127.0.0.1", port: network.port, device: Fixture.device)
                let manager = DeviceNetworkManager(device: Fixture.device, broker: route, settings: .quick) { [here] }
                func loseConnection(refusing: Bool) async throws {
                    network.refuse(refusing)
                    await fixture.relay.cut()
                    try await eventually("the loss is noticed") { await !manager.session.isConnected }
                    #expect(try await manager.getBackupWifiNetworks().max == 3)
                }
                #expect(try await manager.getBackupWifiNetworks().max == 3)
                #expect((try? arguments()) == nil && network.connections == 1)
                try await loseConnection(refusing: true)
                #expect(try arguments().first == "tunnel")
                #expect(network.connections == 0 && fixture.relay.accepted == 2)
                try await loseConnection(refusing: false)
                #expect(network.connections == 1 && fixture.relay.accepted == 3)
                await manager.close()
                await network.stop()
            }
        }
    }

    /// A host in the phone's network that takes the connection and says nothing has a head start only.
    @Test func aSilentHostDelaysTheBrokerOnlyALittle() async throws {
        try await Fixture.with { fixture async throws in
            try await withRoute(to: fixture.relay.port) { route, _ async throws in
                let listener = try FileHandle.silentListener()
                defer { close(listener.descriptor) }
                let silent = Endpoint.network(host: "127.0.0.1", port: listener.port, device: Fixture.device)
                let client = try await DeviceClient(
                    connectingTo: .first(silent, otherwise: .broker(route, device: Fixture.device)))
                #expect(try await client.capabilities().deviceId == Fixture.device.deviceId)
                await client.close()
            }
        }
    }

    /// A broker may still deliver the command after the app has given up, so a switch may yet begin.
    @Test func aLostCommandMayStillArriveThroughABroker() async throws {
        let gate = Gate()
        let board = Board(Fixture.device) { request in if request.type == .switchNetwork { await gate.pass() } }
        try await Fixture.with(board) { fixture async throws in
            try await withRoute(to: fixture.relay.port) { route, _ async throws in
                var settings = DeviceSession.Settings.quick
                settings.timeout = .seconds(3)
                let session = DeviceSession(.broker(route, device: Fixture.device), settings: settings)
                let network = NetworkReference.new(NewNetwork(ssid: try SSID("Elsewhere"), credential: .none))
                await #expect(throws: ClientError.outcomeUnknown(switchId: nil)) {
                    try await session.switchNetwork(to: network)
                }
                gate.open()
                await session.close()
            }
        }
    }

    @Test func thePermanentErrorIsReported() async throws {
        let stranger = try DeviceKey(deviceId: "board-1", localKey: Secret(text: "fedcba9876543210"))
        try await Fixture.with { fixture async throws in
            let refusing = Endpoint.network(host: "127.0.0.1", port: fixture.relay.port, device: stranger)
            for endpoint in [
                Endpoint.first(refusing, otherwise: Self.nowhere), .first(Self.nowhere, otherwise: refusing),
            ] {
                await #expect(throws: ClientError.keyRefused(refusing)) {
                    try await DeviceClient(connectingTo: endpoint)
                }
            }
        }
        var missing = BrokerRoute("mqtt://broker")
        missing.program = "/no/such/altnet-mqtt"
        let endpoint = Endpoint.broker(missing, device: Fixture.device)
        let error = await #expect(throws: ClientError.self) { try await DeviceClient(connectingTo: endpoint) }
        #expect(error == .connectFailed(endpoint, errno: ENOENT))
        #expect(error?.description == "altnet-mqtt is not installed: apt install altnet-fleet")
    }

    @Test func aTunnelThatEndsIsTurnedAway() async throws {
        var route = BrokerRoute("mqtt://broker")
        route.program = "/bin/true"
        let endpoint = Endpoint.broker(route, device: Fixture.device)
        await #expect(throws: ClientError.turnedAway(endpoint)) { try await DeviceClient(connectingTo: endpoint) }
    }
}

extension FileHandle {
    /// Listens on a free port of this machine, and never accepts.
    fileprivate static func silentListener() throws -> (descriptor: Int32, port: Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(result)
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
}
