import AgentModel
import AppProtocol
import AppServer
import Foundation
import Testing

@testable import Harness

/// Runs `body` with the harness's view of a model device, over a Unix socket of its own.
func withModel<Value>(
    _ defect: Defect? = nil, meddling: Meddling? = nil, overNetwork: Bool = false, key: DeviceKey? = ModelDevice.key,
    prepare: (ModelDevice) throws -> Void = { _ in },
    _ body: (Target, ModelDevice) async throws -> Value
) async throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("h\(UInt32.random(in: 0 ... .max))").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let hub = EventHub()
    let device = try ModelDevice(hub: hub, defect: defect)
    try prepare(device)
    let lan = LANListenerSettings(port: 0, device: ModelDevice.key)
    let server = AppServer(
        unix: UnixListenerSettings(path: folder + "/device"), lan: overNetwork ? lan : nil, service: device, hub: hub,
        limits: .brisk)
    try await server.start()
    var path = folder + "/device"
    var proxy: MeddlingProxy?
    if let meddling {
        path = folder + "/proxy"
        proxy = try await MeddlingProxy(at: path, before: folder + "/device", meddling)
    }
    let patience = Duration.seconds(meddling == .silent ? 1 : 10)
    let target =
        if overNetwork, let port = server.lanPort {
            Target(
                host: "127.0.0.1", port: port, key: ModelDevice.key, patience: patience, switchTime: .seconds(8))
        } else {
            Target(socket: path, key: key, patience: patience, switchTime: .seconds(8))
        }
    let result: Result<Value, any Error>
    do { result = .success(try await body(target, device)) } catch { result = .failure(error) }
    try await proxy?.stop()
    await server.stop()
    return try result.get()
}

extension AppServer.Limits {
    /// Those of a device in all but how long it makes others wait, for the harness waits as long.
    fileprivate static var brisk: Self {
        var lan = AppServer.LANLimits()
        lan.requests = AppServer.RequestRate(perSecond: 500, burst: 60)
        lan.requestsPerAddress = AppServer.RequestRate(perSecond: 1000, burst: 120)
        lan.wrongKeys.waits.first = .milliseconds(10)
        lan.wrongKeys.waits.last = .milliseconds(100)
        return Self(lingering: .milliseconds(200), lan: lan)
    }
}

/// The model's surroundings.
func bench(_ device: ModelDevice) throws -> Bench {
    Bench(
        networks: try ModelDevice.air.map { name, password in
            BenchNetwork(name: name, ssid: try SSID(name), password: Secret(text: password))
        }, accessPoints: ModelAir(device: device))
}

extension Report {
    var failures: [String] {
        results.compactMap { result in
            guard case .failed(let expected, let got, let exchange) = result.outcome else { return nil }
            return "\(result.id): expected \(expected), got \(got)\n" + exchange.suffix(8).joined(separator: "\n")
        }
    }

    func outcome(of id: String) -> CheckResult.Outcome? { results.first { $0.id == id }?.outcome }
}

func checks(_ ids: [String]) -> [Check] { Check.all.filter { ids.contains($0.id) } }
