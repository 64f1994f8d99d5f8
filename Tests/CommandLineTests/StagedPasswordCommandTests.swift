import AgentModel
import AppProtocol
import Foundation
import Testing

@Suite struct StagedPasswordCommandTests {
    @Test func isStagedAndDropped() async throws {
        let device = try ScriptedDevice { $0.features = ["stage"] }
        let stage = ["backups", "stage", "Attic", "--change", "2026-12", "--keep-for", "604800", "--password-stdin"]
        let staged = try await CommandRun.altnet(stage, device: device, input: "newer password\n")
        #expect(staged.status == 0 && staged.output.contains("Attic: ") && staged.output.contains("(2026-12"))
        #expect(!staged.output.contains("newer password\n"))
        let dropped = try await CommandRun.altnet(["backups", "drop", "2026-12", "--json"], device: device)
        let list = try JSONDecoder().decode(BackupList.self, from: Data(dropped.output.utf8))
        #expect(list.staged.map(\.phase) == [.dropped])
        let unknown = try await CommandRun.altnet(["backups", "drop", "2027"], device: device)
        #expect(unknown.status != 0)
        guard case .stagePassword(let sent)? = device.commands.first else {
            Issue.record("\(device.commands)")
            return
        }
        #expect(sent.changeId == "2026-12" && sent.keepFor == 604_800 && sent.network.ssid.text == "Attic")
    }

    @Test(arguments: [["--change", ""], ["--change", "a", "--keep-for", "59"], []])
    func whatCannotBeIsRefused(options: [String]) async throws {
        let device = try ScriptedDevice { $0.features = ["stage"] }
        let run = try await CommandRun.altnet(
            ["backups", "stage", "Attic", "--password-stdin"] + options, device: device, input: "newer password\n")
        #expect(run.status == 64 && device.commands.isEmpty)
    }

    @Test func anOlderDeviceIsToldNothing() async throws {
        let device = try ScriptedDevice { $0.features = [] }
        let run = try await CommandRun.altnet(
            ["backups", "stage", "Attic", "--change", "a", "--password-stdin"], device: device,
            input: "newer password\n")
        #expect(run.status != 0 && run.errors.contains("nothing was changed") && device.commands.isEmpty)
    }
}
