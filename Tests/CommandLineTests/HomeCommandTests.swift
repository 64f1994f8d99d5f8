import AppProtocol
import Testing

@Suite struct HomeCommandTests {
    private func device() throws -> ScriptedDevice {
        let (attic, home) = (try Sample.backup("Attic"), try Sample.backup("HomeNet"))
        return try ScriptedDevice {
            $0.backups = BackupList(
                max: 3, revision: 7, networks: [attic], home: home, chosen: try Sample.backup("Lab"))
        }
    }

    @Test func isShown() async throws {
        let run = try await CommandRun.altnet(["home"], device: device())
        #expect(run.status == 0)
        #expect(run.output == "Chosen  Lab\nHome    HomeNet\n")
        let list = try await CommandRun.altnet(["backups"], device: device())
        #expect(list.output.contains("1 of 3") && list.output.hasSuffix(" Lab\n"))
    }

    // covers: seed/home
    @Test func isReplacedAndTheListStays() async throws {
        let device = try device()
        let attic = NetworkReference.stored(try Sample.backup("Attic").hash)
        let run = try await CommandRun.altnet(["home", "set", "Attic"], device: device)
        #expect(run.status == 0 && run.output == "Home    Attic\n")
        #expect(
            device.commands.last
                == .updateBackups(BackupsUpdate(networks: [attic], ifRevision: 7, home: .replace(attic))))
        let new = try await CommandRun.altnet(
            ["home", "set", "--new", "Lab", "--password-stdin"], device: device, input: "12345678\n")
        #expect(new.status == 0 && new.output == "Home    Lab\n")
    }

    // covers: seed/home
    @Test func isForgotten() async throws {
        let device = try device()
        let run = try await CommandRun.altnet(["home", "forget"], device: device)
        #expect(run.status == 0 && run.output.contains("no home network"))
        let listed = NetworkReference.stored(try Sample.backup("Attic").hash)
        #expect(
            device.commands.last == .updateBackups(BackupsUpdate(networks: [listed], ifRevision: 7, home: .forget)))
    }

    @Test func anOlderDeviceIsToldApart() async throws {
        let device = try ScriptedDevice { $0.features = [] }
        let run = try await CommandRun.altnet(["home", "forget"], device: device)
        #expect(run.status == 76)
        #expect(device.commands.isEmpty)
    }
}
