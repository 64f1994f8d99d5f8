import AgentModel
import AppClient
import AppProtocol
import Foundation
import Glibc
import Harness
import Simulation
import Testing

@testable import DeveloperDevice

/// The device that apps are developed against, with real sockets, TLS and a key file; its world goes 30 times as fast
/// as the clock.
@Suite(.serialized) struct DeveloperDeviceTests {
    @Test func anAppSeesThatTheAccessPointLosesPower() async throws {
        try await withDevice { running in
            let client = try await DeviceClient(connectingTo: running.credentials, timeout: .seconds(60))
            let events = try await client.events(EventSubscription(since: 0))
            var iterator = events.makeAsyncIterator()
            func online(on name: String) async throws -> NetworkStatus {
                while let event = try await iterator.next() {
                    guard case .networkChanged(let status) = event.body, status.state == .online,
                        status.ssid?.description == name
                    else { continue }
                    return status
                }
                throw SystemError("hear that the device is online on \(name)", errno: ECONNRESET)
            }
            _ = try await online(on: "Garden")
            let path = running.places.control
            let cut = try await offLoop { try WorldClient.ask(WorldRequest(change: "Garden off"), at: path) }
            guard case .world(let world) = cut else { throw POSIXError(.EINVAL) }
            #expect(world.accessPoints.map(\.on) == [false, true])
            _ = try await online(on: "Home")
            #expect(try await client.network().ssid?.description == "Home")
            #expect(try await client.history().decisions.last?.to?.ssid.description == "Home")
            _ = try await offLoop { try WorldClient.ask(WorldRequest(change: "Garden on"), at: path) }
            _ = try await online(on: "Garden")
            await client.close()
        }
    }

    @Test func aWrongRequestToTheWorldIsAnsweredWithItsError() async throws {
        try await withDevice { running in
            let path = running.places.control
            for (change, code) in [("nix off", WorldError.Code.invalidChange), ("suspend for 1h", .unsupported)] {
                let answer = try await offLoop { try WorldClient.ask(WorldRequest(change: change), at: path) }
                guard case .error(let error) = answer else { throw POSIXError(.EINVAL) }
                #expect(error.code == code && !error.message.isEmpty)
            }
            for line in ["", "x", "[]", #"{"change":5}"#, #"{"do":"repeater off"}"#, "\u{fffd}", #"{"change":null}"#] {
                guard case .error(let error) = await running.device.answer(to: Array(line.utf8)) else {
                    throw POSIXError(.EINVAL)
                }
                #expect(error.code == .malformed, "\(line)")
            }
            guard case .world = await running.device.answer(to: Array("{}".utf8)) else { throw POSIXError(.EINVAL) }
        }
    }

    @Test func whatAnAppStoresIsThereAfterARestart() async throws {
        try await withFolder { folder in
            let ssid = try SSID("Cellar")
            let key = try await withDevice(in: folder) { running in
                let client = try await DeviceClient(connectingTo: .unixSocket(path: running.places.socket))
                let kept = try await client.backups().networks.map { NetworkReference.stored($0.hash) }
                let cellar = NewNetwork(ssid: ssid, password: Secret(text: "cellar-door"))
                _ = try await client.updateBackups(kept + [.new(cellar)])
                await client.close()
                return running.pairingCode.device
            }
            try await withDevice(in: folder) { running in
                #expect(running.pairingCode.device == key)
                let client = try await DeviceClient(connectingTo: running.credentials)
                #expect(try await client.backups().networks.last?.ssid == ssid)
                await client.close()
            }
            let other = try DeviceKey(deviceId: "other", localKey: Secret(text: "another key than that"))
            await #expect(throws: RunningDeviceError.otherKey(folder: folder + "/state")) {
                try await withDevice(in: folder, key: other) { _ in }
            }
        }
    }

    @Test func aDeviceConformsToTheProtocol() async throws {
        try await withDevice { running in
            let networks = try [("repeater", "Garden", "watering-can"), ("router", "Home", "front-door-mat")].map {
                BenchNetwork(name: $0.0, ssid: try SSID($0.1), password: Secret(text: $0.2))
            }
            // Strong, or the device would leave it by itself while a check is at it.
            try await running.device.change("router signal -60")
            let harness = Harness(
                target: DeviceUnderTest(host: "127.0.0.1", port: running.port, key: running.pairingCode.device),
                bench: Bench(networks: networks, accessPoints: WorldSwitch(device: running.device)))
            let only = [
                "switch", "accessPoints", "network", "scan", "backups.get", "diagnosis", "hashes", "events", "name",
                "backups.update.twoPasswords", "keys.duringSwitch",
            ]
            let report = try await harness.run(Check.selected(only: only.map { Pattern($0) }, skip: []))
            #expect(report.results.filter(\.outcome.isFailed).map { "\($0.id): \($0.outcome)" } == [])
            #expect(report.results.filter { !$0.outcome.isPassed }.map(\.id) == ["switch.uplink"])
        }
    }
}

private struct WorldSwitch: AccessPointSwitch {
    let device: DeveloperDevice

    func names() async throws -> [String] { await device.world.accessPoints.map(\.name) }

    func turn(_ name: String, on isOn: Bool) async throws {
        _ = try await device.change("\(name) \(isOn ? "on" : "off")")
    }
}

extension RunningDevice {
    var credentials: Endpoint { .network(host: "127.0.0.1", port: port, device: pairingCode.device) }
}

extension WorldClient {
    fileprivate static func ask(_ request: WorldRequest, at path: String) throws -> WorldAnswer {
        try ask(request, at: path, within: .seconds(60))
    }
}

/// For what blocks.
func offLoop<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await Task.detached { try body() }.value
}

func withFolder<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: (String) async throws -> Result
) async throws -> Result {
    var template = Array("/tmp/developer-device-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError("make a folder") }
    let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}

func withDevice<Result>(
    isolation: isolated (any Actor)? = #isolation, _ body: (RunningDevice) async throws -> Result
) async throws -> Result {
    try await withFolder { try await withDevice(in: $0, body) }
}

private func withDevice<Result>(
    in folder: String, key: DeviceKey? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: (RunningDevice) async throws -> Result
) async throws -> Result {
    var settings = DeveloperDevice.Settings(try ScenarioLibrary.scenario(named: "house-with-repeater"))
    settings.speed = 30
    var places = RunningDevice.Places(sockets: folder)
    (places.state, places.key, places.port, places.isAnnounced) = (folder + "/state", key, 0, false)
    let running = try await RunningDevice(settings, at: places)
    await running.begin()
    do {
        let result = try await body(running)
        await running.stop()
        return result
    } catch {
        await running.stop()
        throw error
    }
}
