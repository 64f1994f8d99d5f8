import AgentModel
import AppProtocol
import Foundation
import Testing

@testable import altnet

@Suite struct SwitchTests {
    private func device(ending phase: SwitchPhase, _ text: String? = nil) throws -> ScriptedDevice {
        try ScriptedDevice {
            $0.phases = [
                SwitchStatus(switchId: "s-1", phase: .joining),
                SwitchStatus(switchId: "s-1", phase: .waitingForAddress),
                SwitchStatus(
                    switchId: "s-1", phase: phase, reason: text == nil ? nil : ReasonCode(.wrongKey), text: text),
            ]
        }
    }

    @Test func toAStoredNetwork() async throws {
        let device = try device(ending: .committed)
        let run = try await CommandRun.altnet(["switch", "Attic"], device: device)
        #expect(run.status == 0)
        #expect(run.output.contains("Attic") && run.output.hasSuffix(" 2.1 s.\n"))
        let phases = [SwitchPhase.accepted, .joining, .waitingForAddress].map { "  \(DisplayText.phase($0))...\n" }
        #expect(run.errors == phases.joined())
        #expect(
            device.commands.last
                == .switchNetwork(SwitchRequest(target: .stored(try Sample.backup("Attic").hash), besideUplink: true)))
    }

    /// On the device itself Wi-Fi moves beside a cable; over the network only where that is asked for.
    // covers: seed/switch-beside-cable
    @Test func besideACable() async throws {
        let device = try ScriptedDevice {
            $0.phases = [SwitchStatus(switchId: "s-1", phase: .committed, trafficOver: .wired)]
        }
        let run = try await CommandRun.altnet(["switch", "Attic"], device: device)
        #expect(run.status == 0)
        #expect(run.output.hasSuffix(" a cable.\n"))
    }

    @Test func toANewNetwork() async throws {
        let device = try device(ending: .committed)
        let run = try await CommandRun.altnet(
            ["switch", "--new", "Cafe \\\\ Bar", "--password-stdin", "--json"], device: device, input: "12345678\n")
        #expect(run.status == 0)
        let cafe = NewNetwork(ssid: try SSID("Cafe \\ Bar"), password: Secret(text: "12345678"))
        #expect(device.commands == [.switchNetwork(SwitchRequest(target: .new(cafe), besideUplink: true))])
        let status = try JSONDecoder().decode(SwitchStatus.self, from: Data(run.output.utf8))
        #expect(status == SwitchStatus(switchId: "s-1", phase: .committed))
    }

    @Test(arguments: [[], ["--no-wait"]])
    func thatIsForOnce(options: [String]) async throws {
        let device = try device(ending: .committed)
        let run = try await CommandRun.altnet(["switch", "Attic", "--join-once"] + options, device: device)
        #expect(run.status == 0)
        let attic = NetworkReference.stored(try Sample.backup("Attic").hash)
        #expect(
            device.commands.last == .switchNetwork(SwitchRequest(target: attic, joinOnce: true, besideUplink: true)))
    }

    @Test(arguments: [SwitchPhase.rolledBack, .failed])
    func thatFails(phase: SwitchPhase) async throws {
        let run = try await CommandRun.altnet(
            ["switch", "Attic"], device: device(ending: phase, "Attic says no"))
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.errors.hasSuffix("altnet: \(DisplayText.phase(phase)) after 2.1 s: Attic says no\n"))
        let json = try await CommandRun.altnet(["switch", "Attic", "--json"], device: device(ending: phase, "no"))
        #expect(json.status == 1)
        #expect(try JSONDecoder().decode(SwitchStatus.self, from: Data(json.output.utf8)).phase == phase)
    }

    @Test func thatIsNotWaitedFor() async throws {
        let run = try await CommandRun.altnet(["switch", "Attic", "--no-wait"], device: ScriptedDevice())
        #expect(run.status == 0)
        #expect(run.output.contains("Attic"))
    }

    @Test func thatHasToBeConfirmed() async throws {
        let device = try device(ending: .rolledBack, "Attic: too late")
        let run = try await CommandRun.altnet(["switch", "Attic", "--confirm-within", "30"], device: device)
        #expect(run.status == 1)
        let target = NetworkReference.stored(try Sample.backup("Attic").hash)
        #expect(
            device.commands.last == .switchNetwork(SwitchRequest(target: target, confirmWithin: 30, besideUplink: true))
        )
        // Told before the device leaves the network on which this is read.
        let advice = run.errors.prefix { $0 != "\n" }
        #expect(advice.contains("30 s") && advice.hasSuffix("altnet switch --confirm s-1"))
        #expect(run.errors.hasSuffix(" after 2.1 s: Attic: too late\n"))

        let unwatched = try await CommandRun.altnet(
            ["switch", "Attic", "--confirm-within", "30", "--no-wait"], device: ScriptedDevice())
        #expect(unwatched.output.contains("altnet switch --confirm s-1"))
    }

    @Test func thatIsConfirmed() async throws {
        let device = try ScriptedDevice()
        let run = try await CommandRun.altnet(["switch", "--confirm", "s-7"], device: device)
        #expect(run.status == 0)
        #expect(run.output.hasPrefix("Confirmed: ") && run.output.hasSuffix(" Attic.\n"))
        #expect(device.asked == [.confirmSwitch(SwitchQuery(switchId: "s-7"))])
    }

    @Test func whatTheDeviceSaysCannotPlayTricksOnTheTerminal() async throws {
        let device = try ScriptedDevice { $0.confirmedText = "on \u{1b}[2JAttic\u{7f}" }
        let run = try await CommandRun.altnet(["switch", "--confirm", "s-7"], device: device)
        #expect(run.output == "Confirmed: on \\x1b[2JAttic\\x7f.\n")
        let json = try await CommandRun.altnet(["switch", "--confirm", "s-7", "--json"], device: device)
        #expect(json.output.contains("on \\u001b[2JAttic\\u007f"))
    }

    /// An answer is no success yet: its phase decides.
    @Test(arguments: [SwitchPhase.waitingForConfirmation, .rolledBack, .failed])
    func thatIsConfirmedTooLate(phase: SwitchPhase) async throws {
        let device = try ScriptedDevice {
            $0.confirmedPhase = phase
            $0.confirmedText = nil
        }
        let run = try await CommandRun.altnet(["switch", "--confirm", "s-7"], device: device)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.errors.hasPrefix("altnet: \(DisplayText.phase(phase)): "))
        let json = try await CommandRun.altnet(["switch", "--confirm", "s-7", "--json"], device: device)
        #expect(json.status == 1)
        #expect(try JSONDecoder().decode(SwitchStatus.self, from: Data(json.output.utf8)).phase == phase)
    }

    @Test(arguments: [SwitchPhase.validating, .waitingForAddress])
    func thatIsConfirmedBeforeItIsOver(phase: SwitchPhase) async throws {
        let device = try ScriptedDevice {
            $0.confirmedPhase = phase
            $0.confirmedText = nil
        }
        let run = try await CommandRun.altnet(["switch", "--confirm", "s-7"], device: device)
        #expect(run.status == 0)
        #expect(run.output.contains("(\(DisplayText.phase(phase)))"))
    }

    @Test func thatTakesTooLong() async throws {
        let run = try await CommandRun.altnet(["switch", "Attic", "--timeout", "10"], device: ScriptedDevice())
        #expect(run.status == 75)
        #expect(run.errors.contains("after 10 s"))
    }

    @Test(arguments: [
        (ErrorCode.alreadyAssociated, Int32(0)), (.switchInProgress, 75), (.cannotSwitch, 1), (.notWaiting, 1),
        (.unknownNetwork, 65),
        (.interfaceMissing, 74), (.notPermitted, 77), (.unsupported, 76), (.internalError, 70),
    ])
    func thatIsRefused(code: ErrorCode, status: Int32) async throws {
        let device = try ScriptedDevice { $0.errors = [ProtocolError(code, "as it is")] }
        let run = try await CommandRun.altnet(["switch", "Attic"], device: device)
        #expect(run.status == status)
        if status == 0 {
            #expect(run.output == "as it is\n")
        } else {
            #expect(run.errors == "altnet: \(ProtocolError(code, "as it is").sentence)\n")
        }
    }
}
