import AgentModel
import AppProtocol
import Foundation
import Testing

@testable import altnet

@Suite struct SetupAccessPointCommandTests {
    private static func status(_ change: (inout SetupAccessPointStatus) -> Void) throws -> SetupAccessPointStatus {
        var status = SetupAccessPointStatus(isOpen: false, ssid: try SSID("altnet-h-01"))
        change(&status)
        return status
    }

    @Test func itIsOpenedAndClosed() async throws {
        let device = try ScriptedDevice { _ in }
        let open = try await CommandRun.altnet(["setup-ap", "open"], device: device)
        #expect(open.status == 0 && open.output.contains("altnet-h-01 is open: "))
        let button = try await CommandRun.altnet(["setup-ap", "open", "--button"], device: device)
        #expect(button.output.contains("by the button") && button.output != open.output)
        let closed = try await CommandRun.altnet(["setup-ap", "close", "--json"], device: device)
        #expect(try JSONDecoder().decode(SetupAccessPointStatus.self, from: Data(closed.output.utf8)).isOpen == false)
        #expect(
            device.commands == [
                .openRescue(SetupAccessPointRequest()), .openRescue(SetupAccessPointRequest(isButton: true)),
                .closeRescue,
            ])
    }

    @Test func theOldNameWorksWithAWarning() async throws {
        let device = try ScriptedDevice { _ in }
        let present = try await CommandRun.altnet(["setup-ap", "open"], device: device)
        let old = try await CommandRun.altnet(["rescue", "open"], device: device)
        #expect(old.status == 0 && old.output == present.output && present.errors.isEmpty)
        let warning = "'altnet rescue' is now 'altnet setup-ap'; the old name works until the next version"
        #expect(old.errors == "altnet: \(warning)\n")
    }

    @Test(
        arguments: [
            (["rescue"], ["setup-ap"]), (["--socket", "s", "rescue", "open"], ["--socket", "s", "setup-ap", "open"]),
            (["--socket=s", "rescue"], ["--socket=s", "setup-ap"]),
            (["help", "rescue", "open"], ["help", "setup-ap", "open"]), (["help"], ["help"]),
            // Only as a command, and not as the value of an option.
            (["switch", "rescue"], ["switch", "rescue"]), (["--socket", "rescue"], ["--socket", "rescue"]),
            (["--socket"], ["--socket"]), ([], []),
        ] as [([String], [String])]) func theOldNameIsReplaced(arguments: [String], expected: [String])
    {
        Console.$current.withValue(.silent()) { #expect(Altnet.withPresentName(arguments) == expected) }
    }

    @Test func theStatusTellsWhy() async throws {
        let lost = try Self.status {
            ($0.isOpen, $0.why, $0.radio, $0.stations) = (true, "nothingSeen", "beside", 1)
        }
        let device = try ScriptedDevice { $0.network.rescue = lost }
        let shown = try await CommandRun.altnet(["setup-ap"], device: device)
        #expect(shown.output.hasPrefix("altnet-h-01 is open: ") && shown.output.contains("in range"))
        #expect(shown.output.contains("1 device"))
        let status = try await CommandRun.altnet(["status"], device: device)
        #expect(status.output.contains("Setup AP") && status.output.contains("altnet-h-01 is open"))
    }

    @Test func theHistoryNamesIt() {
        #expect(DisplayText.name(Decision.Kind(rawValue: "rescue")) == "setup access point")
        #expect(DisplayText.name(Decision.Kind(rawValue: "move")) == "move")
    }

    @Test func aDeviceWithoutOneSaysSo() async throws {
        let device = try ScriptedDevice { _ in }
        let run = try await CommandRun.altnet(["setup-ap", "show"], device: device)
        #expect(run.status == 76 && run.errors.contains("no setup access point"))
    }

    @Test func aProblemIsTold() throws {
        let status = try Self.status { ($0.why, $0.problem) = ("button", "the driver refuses\u{1b}") }
        let text = DisplayText.setupAccessPoint(status, now: Timestamp(millisecondsSince1970: 0))
        #expect(text.hasPrefix("altnet-h-01 ") && text.contains(": the driver refuses") && !text.contains("\u{1b}"))
        let waiting = try Self.status { $0.why = "command" }
        let sentence = DisplayText.setupAccessPoint(waiting, now: .now)
        #expect(sentence.hasPrefix("altnet-h-01 ") && sentence.contains("radio") && !sentence.contains("is open"))
    }
}
