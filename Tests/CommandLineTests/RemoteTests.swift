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
        ["switch", "--new", "Cafe", "--join-once", "--no-wait"], ["switch", "--confirm", "s-7"], ["history"],
        ["switch", "Unknown"],
    ])
    func isAsItIsOnTheDevice(arguments: [String]) async throws {
        let update = #"{"networks":[{"ssid":"Cafe","password":"12345678"}]}"#
        let (here, there) = (try device(), try device())
        let local = try await CommandRun.altnet(arguments, device: here, password: "12345678", input: update)
        let remote = try await CommandRun.remote(arguments, device: there, password: "12345678", input: update)
        #expect(remote.output == local.output)
        #expect(remote.errors == local.errors)
        #expect(remote.status == local.status)
        #expect(there.commands == here.commands)
        #expect(!(remote.output + remote.errors).contains("0123456789abcdef"))
    }

    @Test func eventsComeOverTheNetwork() async throws {
        let run = try await CommandRun.remote(["switch", "Attic"], device: device())
        #expect(run.errors == "  accepted...\n  joining...\n")
        #expect(run.output.hasPrefix("Connected to Attic in "))
    }

    /// That the device answers over its new network is what a confirmation says.
    @Test func reachingTheDeviceConfirmsTheSwitch() async throws {
        let waiting = SwitchStatus(switchId: "s-1", phase: .waitingForConfirmation)
        let device = try ScriptedDevice { $0.phases = [waiting] }
        let run = try await CommandRun.remote(["switch", "Attic", "--confirm-within", "30"], device: device)
        #expect(run.status == 0)
        #expect(device.asked.contains(.confirmSwitch(SwitchQuery(switchId: "s-1"))))
        // Nobody else has to.
        #expect(!run.errors.contains("altnet switch --confirm"))

        let unwatched = try await CommandRun.remote(
            ["switch", "Attic", "--confirm-within", "30", "--no-wait"], device: try ScriptedDevice())
        #expect(unwatched.output.contains("switch --confirm s-1"))
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
