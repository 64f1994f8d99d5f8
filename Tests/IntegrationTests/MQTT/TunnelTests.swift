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

    /// A client of the broker can end a tunnel, and the app begins again. The client cannot send requests as the app.
    @Test(arguments: ["replay", "injection", "gap", "end"]) func aHostileBrokerOnlyDisturbs(how: String) async throws {
        try await run { bench, route, lines in
            let device = bench.running.pairingCode.device
            let manager = DeviceNetworkManager(device: device, broker: route) { [] }
            _ = try await manager.getCurrentNetworkInfo()
            let first = try await lines.next("a piece") { Self.isTunnel($0) && $0.contains("/up ") }.text
            let topic = String(first.prefix { $0 != " " })
            let sent = lines.texts.count { $0.hasPrefix(topic + " ") && $0.count > topic.count + 9 }
            let pieces: [[UInt8]] =
                switch how {
                case "replay": [try #require(Hex.bytes(first.dropFirst(topic.count + 1)))]
                case "injection": [[0, 0, 0, UInt8(sent), 0x17, 3, 3, 0, 4, 1, 2, 3, 4]]
                case "gap": [[0, 0, 1, 0, 7]]
                default: [[]]
                }
            for piece in pieces { try await publish(piece, to: topic, bench) }
            #expect(try await manager.getCurrentNetworkInfo().ssid == (try SSID("Garden")))
            await manager.close()
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
