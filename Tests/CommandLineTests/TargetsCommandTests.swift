import AppProtocol
import Foundation
import Testing

@Suite struct TargetsCommandTests {
    @Test func theServersAreShownWithTheirStates() async throws {
        let device = try ScriptedDevice { _ in }
        let run = try await CommandRun.altnet(["targets"], device: device)
        #expect(run.status == 0 && run.errors == "")
        #expect(run.output.contains("broker") && run.output.contains("mqtts://mqtt.example.com:8883"))
        #expect(run.output.hasSuffix("required: target\n"))
        #expect(device.commands == [])
    }

    // covers: seed/targets-at-run-time
    @Test func theyAreReplaced() async throws {
        let device = try ScriptedDevice { _ in }
        let run = try await CommandRun.altnet(
            ["targets", "a=tcp://a.example:1", "b=b.example:2", "--json"], device: device)
        #expect(run.status == 0)
        let wanted = [TargetSetting(name: "a", url: "tcp://a.example:1"), TargetSetting(name: "b", url: "b.example:2")]
        #expect(device.commands == [.updateTargets(.replace(wanted))])
        let list = try JSONDecoder().decode(TargetList.self, from: Data(run.output.utf8))
        #expect(list.source == .app && list.targets == wanted)
    }

    @Test func noneAndReset() async throws {
        let device = try ScriptedDevice { _ in }
        #expect(try await CommandRun.altnet(["targets", "--none"], device: device).output.contains("empty"))
        #expect(try await CommandRun.altnet(["targets", "--reset"], device: device).status == 0)
        #expect(device.commands == [.updateTargets(.replace([])), .updateTargets(.reset)])
    }

    @Test func aRefusalIsTold() async throws {
        let device = try ScriptedDevice {
            $0.targetRefusal = ProtocolError(.malformed, "'x y' is wrong")
        }
        let run = try await CommandRun.altnet(["targets", "a=tcp://x y:1"], device: device)
        #expect(run.status == 65 && run.errors.hasPrefix("altnet: 'x y' is wrong"))
    }

    @Test(arguments: [["targets", "--none", "--reset"], ["targets", "a=h:1", "--reset"], ["targets", "nothing"]])
    func wrongArguments(arguments: [String]) async throws {
        #expect(try await CommandRun.altnet(arguments, device: try ScriptedDevice { _ in }).status == 64)
    }

    // covers: seed/providers-switched
    @Test func providersAreSwitched() async throws {
        let device = try ScriptedDevice { _ in }
        let shown = try await CommandRun.altnet(["portal", "--providers"], device: device)
        #expect(shown.output == "click-through on\nhotel off\n")
        let off = try await CommandRun.altnet(["portal", "--off", "click-through"], device: device)
        #expect(off.output == "click-through off\nhotel off\n")
        let on = try await CommandRun.altnet(["portal", "--on", "hotel", "--json"], device: device)
        #expect(
            try JSONDecoder().decode(HotspotProviders.self, from: Data(on.output.utf8)).providers.last?.isOn == true)
        #expect(
            device.commands == [
                .setProvider(ProviderSwitch(provider: "click-through", isOn: false)),
                .setProvider(ProviderSwitch(provider: "hotel", isOn: true)),
            ])
        #expect(try await CommandRun.altnet(["portal", "--on", "a", "--cancel"], device: device).status == 64)
    }
}
