import AgentModel
import AppProtocol
import Testing

@Suite struct NameCommandTests {
    // covers: seed/device-name
    @Test func aNameIsSetShownAndCleared() async throws {
        let device = try ScriptedDevice { _ in }
        #expect(try await CommandRun.altnet(["name"], device: device).output == "The device has no name.\n")
        #expect(try await CommandRun.altnet(["name", " Küche 💡"], device: device).output == "Küche 💡\n")
        #expect(try await CommandRun.altnet(["name"], device: device).output == "Küche 💡\n")
        #expect(try await CommandRun.altnet(["status"], device: device).output.contains("Küche 💡"))
        let cleared = try await CommandRun.altnet(["name", "--clear", "--json"], device: device).output
        #expect(!cleared.contains("deviceName"))
        let name = try DeviceName("Küche 💡")
        #expect(
            device.commands == [.setName(DeviceNameChange(name: name)), .setName(DeviceNameChange(name: nil))])
    }

    @Test(arguments: [["name", ""], ["name", "a\u{202e}b"], ["name", "a", "--clear"], ["name", "a", "b"]])
    func wrongArguments(arguments: [String]) async throws {
        #expect(try await CommandRun.altnet(arguments, device: try ScriptedDevice { _ in }).status == 64)
    }
}
