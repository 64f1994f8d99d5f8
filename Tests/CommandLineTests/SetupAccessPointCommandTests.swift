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
        let open = try await CommandRun.altnet(["rescue", "open"], device: device)
        #expect(open.status == 0 && open.output.contains("altnet-h-01 is open: "))
        let button = try await CommandRun.altnet(["rescue", "open", "--button"], device: device)
        #expect(button.output.contains("by the button") && button.output != open.output)
        let closed = try await CommandRun.altnet(["rescue", "close", "--json"], device: device)
        #expect(try JSONDecoder().decode(SetupAccessPointStatus.self, from: Data(closed.output.utf8)).isOpen == false)
        #expect(
            device.commands == [
                .openRescue(SetupAccessPointRequest()), .openRescue(SetupAccessPointRequest(isButton: true)),
                .closeRescue,
            ])
    }

    @Test func theStatusTellsWhy() async throws {
        let lost = try Self.status {
            ($0.isOpen, $0.why, $0.radio, $0.stations) = (true, "nothingSeen", "beside", 1)
        }
        let device = try ScriptedDevice { $0.network.rescue = lost }
        let shown = try await CommandRun.altnet(["rescue"], device: device)
        #expect(shown.output.hasPrefix("altnet-h-01 is open: ") && shown.output.contains("in range"))
        #expect(shown.output.contains("1 device"))
        let status = try await CommandRun.altnet(["status"], device: device)
        #expect(status.output.contains("Setup AP") && status.output.contains("altnet-h-01 is open"))
    }

    @Test func aDeviceWithoutOneSaysSo() async throws {
        let device = try ScriptedDevice { _ in }
        let run = try await CommandRun.altnet(["rescue", "show"], device: device)
        #expect(run.status == 65 && run.errors.contains("no setup access point"))
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
