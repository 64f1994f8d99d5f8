import AgentModel
import AppClient
import AppProtocol
import ConnectivitySupport
import Foundation
import JSONValues
import PipedPrograms
import Testing

/// An app that is elsewhere, with the programs that ship and a real mosquitto between it and the device.
// covers: seed/user-app-developer, seed/one-protocol
@Suite(
    .enabled(if: BridgeBench.isInstalled, "needs mosquitto, mosquitto-clients and altnet-mqtt"), .serialized,
    .timeLimit(.minutes(3)))
struct TunnelTests {
    private func run(
        _ settings: [String: String] = [:], _ body: (BridgeBench, BrokerRoute, Lines) async throws -> Void
    ) async throws {
        try await BridgeBench.run { bench in
            let broker = try bench.broker()
            try await bench.start(broker)
            try bench.startBridge(settings)
            let lines = try bench.listen(["-F", "%t %x"])
            try await bench.listen().next(bench.base + "/status") {
                $0["name"]?.text == "Garden" && $0["network"]?["uplink"]?.text == "wifi"
            }
            var route = BrokerRoute("mqtt://127.0.0.1:\(bench.port)", secrets: bench.folder)
            route.program = BridgeBench.program
            try await body(bench, route, lines)
        }
    }

    private static func nowhere(_ device: DeviceKey) -> [Endpoint] {
        [.network(host: "127.0.0.1", port: 1, device: device)]
    }

    private static func home(_ manager: DeviceNetworkManager) async throws -> BackupWifiModel {
        let ssid = try SSID("Home")
        return try #require(try await manager.getBackupWifiNetworks().networks.first { $0.ssid == ssid })
    }

    private static func isTunnel(_ line: String) -> Bool { line.contains("/tunnel/") }

    @Test func aSwitchIsFollowedThroughTheBroker() async throws {
        try await run { bench, route, lines in
            let device = bench.running.pairingCode.device
            let manager = DeviceNetworkManager(device: device, broker: route) { Self.nowhere(device) }
            let info = try await manager.getCurrentNetworkInfo()
            #expect(info.ssid == (try SSID("Garden")))
            let phases = Lines()
            let home = try await Self.home(manager)
            let outcome = try await manager.switchBackupWifiNetwork(hash: home.hash) { status in
                phases.add(status.phase.rawValue)
            }
            #expect(outcome.phase == .committed && phases.texts.first == "accepted")
            #expect(try await manager.getCurrentNetworkInfo().ssid == (try SSID("Home")))

            // The broker sees neither the name nor the password of a new network.
            let model = try manager.generateBackupWifiModel(ssid: "Attic of Anna", pwd: "correct horse")
            _ = try await manager.updateBackupWifiNetworks([model])
            await manager.close()
            let carried = lines.texts.filter(Self.isTunnel)
            #expect(!carried.isEmpty)
            for secret in ["Attic of Anna", "correct horse", "network.switch"] {
                let hexadecimal = secret.utf8.map { String(format: "%02x", $0) }.joined()
                #expect(!carried.contains { $0.contains(hexadecimal) }, "\(secret)")
            }
        }
    }

    @Test func theNetworkIsFirst() async throws {
        try await run { bench, route, lines in
            let device = bench.running.pairingCode.device
            let manager = DeviceNetworkManager(
                device: device, host: "127.0.0.1", port: bench.running.port, broker: route)
            _ = try await manager.getCurrentNetworkInfo()
            await manager.close()
            #expect(!lines.texts.contains(where: Self.isTunnel))
        }
    }

    /// Two apps switch over different ways: one is accepted, the other is refused, and both know it.
    @Test func twoAppsSwitchAtOnce() async throws {
        try await run { bench, route, _ in
            let device = bench.running.pairingCode.device
            let elsewhere = DeviceNetworkManager(device: device, broker: route) { Self.nowhere(device) }
            let here = DeviceNetworkManager(device: device, host: "127.0.0.1", port: bench.running.port)
            let home = try await Self.home(elsewhere)
            _ = try await here.getCurrentNetworkInfo()
            let results = await withTaskGroup(of: Result<SwitchStatus, ClientError>.self) { group in
                for manager in [elsewhere, here] {
                    group.addTask {
                        do throws(ClientError) {
                            return .success(try await manager.switchBackupWifiNetwork(hash: home.hash))
                        } catch { return .failure(error) }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.count { (try? $0.get().phase) == .committed } == 1)
            let codes = results.compactMap { result -> ErrorCode? in
                if case .failure(.refused(let error)) = result { error.code } else { nil }
            }
            #expect(codes == [.switchInProgress] || codes == [.alreadyAssociated])
            for manager in [elsewhere, here] { await manager.close() }
        }
    }

    @Test func aRevokedKeyEndsItsTunnel() async throws {
        try await run { bench, route, _ in
            let owner = bench.running.pairingCode.device
            let local = try await DeviceClient(
                connectingTo: .network(host: "127.0.0.1", port: bench.running.port, device: owner))
            let name = try #require(KeyName("anna"))
            let anna = try await local.addKey(KeyRequest(name: name, role: .switch)).code.device
            let manager = DeviceNetworkManager(device: anna, broker: route) { [] }
            _ = try await manager.getCurrentNetworkInfo()
            _ = try await local.revokeKey(name)
            let error = await #expect(throws: ClientError.self) { try await manager.getCurrentNetworkInfo() }
            #expect(error == .keyRefused(.broker(route, device: anna)) || error?.code == .keyRevoked)
            await local.close()
            await manager.close()
        }
    }

    /// The device ends the tunnel at once, and the switch goes on.
    @Test func aKeyRevokedDuringASwitchEndsItsTunnel() async throws {
        try await run { bench, route, lines in
            let owner = bench.running.pairingCode.device
            let local = try await DeviceClient(
                connectingTo: .network(host: "127.0.0.1", port: bench.running.port, device: owner))
            let events = try await bench.events()
            let name = try #require(KeyName("anna"))
            let anna = try await local.addKey(KeyRequest(name: name, role: .switch)).code.device
            let manager = DeviceNetworkManager(device: anna, broker: route) { [] }
            let home = try await Self.home(manager)
            let begun = Lines()
            let switching = Task {
                try await manager.switchBackupWifiNetwork(hash: home.hash) { begun.add($0.switchId) }
            }
            let id = try await begun.next("the switch", where: { _ in true }).text
            let tunnel = try #require(try await carried(lines, bench).last { $0.isUp }).id
            lines.skip()
            _ = try await local.revokeKey(name)
            try await lines.next("the end of the tunnel") { $0 == "\(bench.base)/tunnel/\(tunnel)/down " }
            let error = await #expect(throws: ClientError.self) { try await switching.value }
            #expect(error?.code == .keyRevoked)
            try await events.next("the outcome") { $0.contains(id) && $0.contains("\"phase\":\"committed\"") }
            await local.close()
            await manager.close()
        }
    }

    // MARK: A hostile broker

    /// A message of the broker's tunnels.
    private struct Piece {
        let id: String
        let isUp: Bool
        let bytes: [UInt8]

        /// - Parameter line: from `mosquitto_sub -F "%t %x"`.
        init?(_ line: String) {
            let parts = line.split(separator: " ", omittingEmptySubsequences: false)
            let levels = (parts.first ?? "").split(separator: "/")
            guard parts.count == 2, levels.count == 5, levels[2] == "tunnel", let bytes = Hex.bytes(parts[1]) else {
                return nil
            }
            (id, isUp, self.bytes) = (String(levels[3]), levels[4] == "up", bytes)
        }

        /// Whether it carries bytes of the session: it is neither a beat nor the end.
        var isOfSession: Bool { bytes.count > 4 }
    }

    /// The pieces that the broker has carried until now.
    private func carried(_ lines: Lines, _ bench: BridgeBench) async throws -> [Piece] {
        let mark = "mark/" + UUID().uuidString
        try await bench.publish(mark, "")
        return try await lines.before { $0.hasPrefix(mark) }.compactMap { Piece($0) }
    }

    private static func switches(_ events: Lines) -> Set<String> {
        Set(events.texts.compactMap { JSONValue(line: Array($0.utf8))?["body"]?["switchId"]?.text })
    }

    /// A client of the broker can end a tunnel, and the app begins again. The client cannot send requests as the app.
    @Test(arguments: ["injection", "gap", "end"]) func aHostileBrokerOnlyDisturbs(how: String) async throws {
        try await run { bench, route, lines in
            let device = bench.running.pairingCode.device
            let manager = DeviceNetworkManager(device: device, broker: route) { [] }
            _ = try await manager.getCurrentNetworkInfo()
            let pieces = try await carried(lines, bench)
            let id = try #require(pieces.first).id
            let next = UInt8(pieces.count { $0.isUp && $0.isOfSession })
            let piece: [UInt8] =
                switch how {
                case "injection": [0, 0, 0, next, 0x17, 3, 3, 0, 4, 1, 2, 3, 4]
                case "gap": [0, 0, 1, 0, 7]
                default: []
                }
            try await publish(piece, to: "\(bench.base)/tunnel/\(id)/up", bench)
            try await lines.next("the end of the tunnel") { $0 == "\(bench.base)/tunnel/\(id)/down " }
            #expect(try await manager.getCurrentNetworkInfo().ssid == (try SSID("Garden")))
            #expect(Set(try await carried(lines, bench).map(\.id)).count == 2, "the app has begun again")
            await manager.close()
        }
    }

    /// A client of the broker sends all that an app has sent for a switch, in the same tunnel and in a new one.
    @Test func aReplayedSwitchStartsNothing() async throws {
        try await run { bench, route, lines in
            let device = bench.running.pairingCode.device
            let events = try await bench.events()
            let elsewhere = DeviceNetworkManager(device: device, broker: route) { [] }
            let garden = try #require(try await elsewhere.getCurrentNetworkInfo().ssidHash)
            let home = try await Self.home(elsewhere)
            _ = try await elsewhere.switchBackupWifiNetwork(hash: home.hash)
            await elsewhere.close()
            let pieces = try await carried(lines, bench).filter { $0.isUp && $0.isOfSession }
            let here = DeviceNetworkManager(device: device, host: "127.0.0.1", port: bench.running.port)
            _ = try await here.switchBackupWifiNetwork(hash: garden)

            for id in Set(pieces.map(\.id)).flatMap({ [$0, String($0.reversed())] }) {
                let replayed = pieces.filter { [id, String(id.reversed())].contains($0.id) }
                let before = try await carried(lines, bench).count
                lines.skip()
                // The device limits new tunnels, and may ignore the first piece for a while.
                while try await !carried(lines, bench).dropFirst(before).contains(where: {
                    $0.id == id && !$0.isUp && $0.isOfSession
                }) { try await publish(replayed[0].bytes, to: "\(bench.base)/tunnel/\(id)/up", bench) }
                for piece in replayed.dropFirst() {
                    try await publish(piece.bytes, to: "\(bench.base)/tunnel/\(id)/up", bench)
                }
                try await lines.next("the end") { $0 == "\(bench.base)/tunnel/\(id)/down " }
            }
            #expect(try await here.getCurrentNetworkInfo().ssid == (try SSID("Garden")))
            let last = try await here.switchBackupWifiNetwork(hash: home.hash).switchId
            try await events.next("the last outcome") { $0.contains(last) && $0.contains("\"phase\":\"committed\"") }
            #expect(Self.switches(events).count == 3)
            await here.close()
        }
    }

    /// Passes MQTT packets on. While the file is there, swaps the next message of an app with the one after it.
    private static let swappingRelay = """
        import os, socket, sys, threading
        broker, armed = int(sys.argv[1]), sys.argv[2]
        skipped = int(sys.argv[3])
        def packet(data):
            size = 0
            for place, byte in enumerate(data[1:5]):
                size |= (byte & 127) << 7 * place
                if byte < 128: return data[:2 + place + size] if len(data) >= 2 + place + size else b""
        def down(app, far):
            while data := far.recv(65536): app.sendall(data)
            app.shutdown(socket.SHUT_RDWR)
        def up(app, far):
            global skipped
            rest = held = b""
            while data := app.recv(65536):
                rest += data
                while first := packet(rest):
                    rest = rest[len(first):]
                    isMessage = first[0] >> 4 == 3
                    if isMessage and held: first, held = first + held, b""
                    elif isMessage and os.path.exists(armed):
                        skipped -= 1
                        if skipped < 0:
                            os.remove(armed)
                            held, first = first, b""
                    far.sendall(first)
            far.shutdown(socket.SHUT_RDWR)
        server = socket.create_server(("127.0.0.1", 0))
        print(server.getsockname()[1], flush=True)
        while True:
            app, far = server.accept()[0], socket.create_connection(("127.0.0.1", broker))
            for work in up, down: threading.Thread(target=work, args=(app, far), daemon=True).start()
        """

    /// Two pieces swap on their way while an app commands a switch and asks other questions.
    @Test(arguments: 0..<3) func swappedPiecesEndTheTunnel(later: Int) async throws {
        try await run { bench, route, lines in
            let device = bench.running.pairingCode.device
            let events = try await bench.events()
            let armed = bench.folder + "/armed"
            let relay = try PipedProgram("python3", ["-c", Self.swappingRelay, "\(bench.port)", armed, "\(later)"])
            defer {
                relay.end(SIGKILL)
                relay.wait()
            }
            let said = Lines()
            said.follow(relay.output)
            var route = route
            route.broker = "mqtt://127.0.0.1:" + (try await said.next("its port", where: { _ in true }).text)
            let manager = DeviceNetworkManager(device: device, broker: route) { [] }
            let home = try await Self.home(manager)
            let tunnel = try #require(try await carried(lines, bench).first).id
            try Data().write(to: URL(fileURLWithPath: armed))
            let asking = Task { for _ in 0..<12 { _ = try? await manager.getCurrentNetworkInfo() } }
            let result: Result<SwitchStatus, ClientError>
            do throws(ClientError) {
                result = .success(try await manager.switchBackupWifiNetwork(hash: home.hash))
            } catch { result = .failure(error) }
            await asking.value
            #expect(!FileManager.default.fileExists(atPath: armed), "two pieces were swapped")
            try await lines.next("the end of the tunnel") { $0 == "\(bench.base)/tunnel/\(tunnel)/down " }
            #expect(Set(try await carried(lines, bench).map(\.id)).count > 1, "the app has begun again")
            // The device has either not received the command, or carried it out once.
            switch result {
            case .success(let status):
                try await events.next("the outcome") {
                    $0.contains(status.switchId) && $0.contains("\"phase\":\"committed\"")
                }
                #expect(Self.switches(events) == [status.switchId])
            case .failure(let error):
                // Unknown if the app had sent it, for a broker may be late.
                #expect([.disconnected, .outcomeUnknown(switchId: nil)].contains(error))
                #expect(try await manager.getCurrentNetworkInfo().ssid == (try SSID("Garden")))
                #expect(Self.switches(events) == [])
            }
            await manager.close()
        }
    }

    /// The harness checks a device through its broker.
    // covers: seed/one-protocol
    @Test func theDeviceConformsThroughATunnel() async throws {
        try await run { bench, _, _ in
            let device = bench.running.pairingCode.device
            let key = bench.folder + "/owner.key"
            try device.localKey.withBytes { try Data($0).write(to: URL(fileURLWithPath: key)) }
            let programs = URL(fileURLWithPath: BridgeBench.program).deletingLastPathComponent().path
            let only = ["network", "capabilities", "lines.order", "events.once", "events.everybody", "switch.notFound"]
            let arguments = [
                "PATH=\(programs):/usr/bin:/bin", "altnet-lab", "harness", "--broker", "mqtt://127.0.0.1:\(bench.port)",
                "--broker-secrets", bench.folder, "--device-id", device.deviceId, "--key-file", key, "--keep-list",
            ]
            let (status, said) = try await offLoop {
                try PipedProgram.run("env", arguments + only.flatMap { ["--only", $0] }, errors: nil)
            }
            #expect(status == 0, "\(String(decoding: said, as: UTF8.self))")
        }
    }

    @Test func manyFakeAppsDoNotEndARealOne() async throws {
        try await run { bench, route, lines in
            let device = bench.running.pairingCode.device
            let manager = DeviceNetworkManager(device: device, broker: route) { [] }
            _ = try await manager.getCurrentNetworkInfo()
            try await lines.next("an opening") { Self.isTunnel($0) && $0.contains("/up 00000000") }
            for number in 0..<20 {
                let id = String(repeating: "0", count: 30) + String(format: "%02x", number)
                try await publish([0, 0, 0, 0, 7], to: "\(bench.base)/tunnel/\(id)/up", bench)
            }
            _ = try await manager.getCurrentNetworkInfo()
            let fake = String(repeating: "0", count: 30)
            let real = lines.texts.count { $0.contains("/up 00000000") && !$0.contains(fake) && Self.isTunnel($0) }
            #expect(real == 1, "the app has not begun again")
            await manager.close()
        }
    }

    @Test func aBrokerWithoutCommandsCarriesNoApp() async throws {
        try await run(["COMMANDS": "none"]) { bench, route, _ in
            let device = bench.running.pairingCode.device
            await #expect(throws: ClientError.timedOut) {
                try await DeviceClient(connectingTo: .broker(route, device: device), timeout: .seconds(3))
            }
        }
    }

    private func publish(_ payload: [UInt8], to topic: String, _ bench: BridgeBench) async throws {
        let (status, _) = try await offLoop {
            try PipedProgram.run(
                "mosquitto_pub",
                ["-V", "5", "-p", "\(bench.port)", "-t", topic, "-q", "1"]
                    + (payload.isEmpty ? ["-n"] : ["-s"]), input: Data(payload))
        }
        #expect(status == 0)
    }
}

extension ClientError {
    fileprivate var code: ErrorCode? { if case .refused(let error) = self { error.code } else { nil } }
}
