import AgentModel
import AppProtocol
import Foundation
import Testing

@testable import altnet

/// The commands against a device in the network.
@Suite struct RemoteTests {
    private func device() throws -> ScriptedDevice {
        try ScriptedDevice {
            $0.phases = [
                SwitchStatus(switchId: "s-1", phase: .joining), SwitchStatus(switchId: "s-1", phase: .committed),
            ]
        }
    }

    @Test(arguments: [
        ["status"], ["status", "--json"], ["scan"], ["scan", "--no-scan", "--json"], ["backups"],
        ["backups", "list", "--json"],
        ["backups", "add", "Cellar"], ["backups", "add", "Cellar", "--open"], ["backups", "remove", "Attic"],
        ["backups", "set", "Attic"], ["backups", "set", "--stdin"], ["switch", "Attic", "--json"],
        ["switch", "--new", "Cafe", "--join-once"], ["switch", "--confirm", "s-7"], ["history"], ["switch", "Unknown"],
    ])
    func isAsItIsOnTheDevice(arguments: [String]) async throws {
        let update = #"{"networks":[{"ssid":"Cafe","password":"12345678"}]}"#
        let (here, there) = (try device(), try device())
        let local = try await CommandRun.altnet(arguments, device: here, password: "12345678", input: update)
        let remote = try await CommandRun.remote(arguments, device: there, password: "12345678", input: update)
        #expect(remote.output == local.output)
        #expect(remote.errors == local.errors)
        #expect(remote.status == local.status)
        #expect(there.asked.filter { $0 != .agreeKey } == here.asked)
        #expect(!(remote.output + remote.errors).contains("0123456789abcdef"))
    }

    @Test func eventsComeOverTheNetwork() async throws {
        let device = try device()
        device.hub.publish(.switchProgress(SwitchStatus(switchId: "s-1", phase: .joining)))
        let history = try await CommandRun.remote(["switch", "Attic"], device: device)
        #expect(history.errors == "  accepted...\n  joining...\n")
        #expect(history.output == "Connected to Attic.\n")
    }

    @Test(arguments: [
        "altnet:pair?v=1&id=bench-01&key=fedcba9876543210", "altnet:pair?v=1&id=bench-02&key=0123456789abcdef",
    ])
    func aKeyThatDoesNotFit(key: String) async throws {
        let device = try device()
        let run = try await CommandRun.remote(["status"], device: device, key: key)
        #expect(run.status == 77)
        #expect(run.errors.contains("the key does not fit"))
        #expect(device.asked.isEmpty)
        #expect(!run.errors.contains("0123456789abcdef") && !run.errors.contains("fedcba"))
        let json = try await CommandRun.remote(["status", "--json"], device: device, key: key)
        #expect(json.status == 77)
        #expect(json.errors.isEmpty)
        #expect(json.output.contains(#""exitStatus" : 77"#))
    }

    @Test func nobodyListens() async throws {
        // Port 1 is tcpmux, which nobody runs.
        let run = try await CommandRun.remote(["status"], device: device(), port: 1)
        #expect(run.status == 69)
        #expect(run.errors == "altnet: nobody answers at 127.0.0.1, port 1\n")
    }

    @Test func noSuchName() async {
        let folder = FileManager.default.temporaryDirectory.path
        let key = folder + "/altnet-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: key) }
        _ = FileManager.default.createFile(
            atPath: key, contents: Data("0123456789abcdef".utf8), attributes: [.posixPermissions: 0o600])
        // Names under this domain never have an address (RFC 6761, 6.4).
        let run = await CommandRun.altnet(
            ["--device", "lamp.invalid", "--device-id", "lamp-01", "--key-file", key, "status"])
        #expect(run.status == 69)
        #expect(run.errors.contains("lamp-01 at lamp.invalid:25863"))
    }
}
