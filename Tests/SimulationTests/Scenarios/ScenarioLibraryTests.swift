import AgentModel
import Failover
import Foundation
import Simulation
import Testing

@Suite struct ScenarioLibraryTests {
    @Test(arguments: ScenarioLibrary.names)
    func everyFileIsAScenario(name: String) throws {
        let scenario = try ScenarioLibrary.scenario(named: name)
        #expect(scenario.name == name)
        #expect(scenario.about.split(separator: " ").count >= 15, "it says what happens")
        #expect(!scenario.accessPoints.isEmpty)
        #expect(scenario.networks.first?.isPreferred == true)
        if name.hasPrefix("lab-") {
            #expect(scenario.duration == .seconds(600))
            #expect(scenario.accessPoints.allSatisfy { $0.shadowing == 0 && $0.fading == 0 }, "the lab has no noise")
        } else {
            #expect((.seconds(3600) ... .seconds(24 * 3600)).contains(scenario.duration))
        }
    }

    /// What is found out only by probing is found out.
    @Test(arguments: ScenarioLibrary.names)
    func wherePlacesLeadNowhereTheDeviceProbes(name: String) throws {
        let scenario = try ScenarioLibrary.scenario(named: name)
        let leadsNowhere =
            scenario.accessPoints.contains { $0.internet != .online }
            || scenario.happenings.contains { if case .internet = $0.change { true } else { false } }
        #expect(!leadsNowhere || scenario.settings.validation != nil)
    }

    @Test func allFilesOfTheFolderAreInIt() throws {
        let folder = SimulationDocument.root.appendingPathComponent("Sources/Bench/Simulation/Scenarios").path
        let files = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(Set(files) == Set(ScenarioLibrary.names.map { $0 + ".scenario" }))
        #expect(ScenarioLibrary.names == ScenarioLibrary.names.sorted())
        #expect(ScenarioLibrary.names.filter { !$0.hasPrefix("lab-") }.count >= 28)
        #expect(try ScenarioLibrary.all().map(\.name) == ScenarioLibrary.names)
    }

    @Test func aNameStandsForTheFileOfThatName() throws {
        for name in ScenarioLibrary.names {
            let path = SimulationDocument.root.appendingPathComponent("Sources/Bench/Simulation/Scenarios/\(name).scenario")
            #expect(try ScenarioLibrary.scenario(named: path.path) == ScenarioLibrary.scenario(named: name))
        }
    }

    @Test func theDocumentListsTheLibrary() throws {
        let rows = try ScenarioLibrary.all().map { scenario in
            let minutes = scenario.duration.milliseconds / 60_000
            let lasts = minutes.isMultiple(of: 60) ? "\(minutes / 60) h" : "\(minutes) min"
            return "| `\(scenario.name)` | \(lasts) | \(scenario.title) |"
        }
        let listed = try SimulationDocument.libraryRows().map(String.init)
        #expect(listed == rows, "Docs/simulation.md should have:\n\(rows.joined(separator: "\n"))")
    }

    // MARK: The lab's scenarios

    /// House.swift of the lab's tests: home on channel 1, the backup on channel 6, an air of 26 channels.
    @Test(arguments: ["lab-power-cut", "lab-fade", "lab-wrong-password", "lab-appears"])
    func theLabsHouse(name: String) throws {
        let scenario = try ScenarioLibrary.scenario(named: name)
        #expect(scenario.radio == Scenario.Radio())
        #expect(scenario.radio.channels == 26)
        #expect(scenario.settings == PolicySettings())
        #expect(scenario.networks.map(\.ssid.description) == ["HomeNet", "BackupNet"])
        #expect(scenario.accessPoints.map(\.frequency.channel) == [1, 6])
        let backup = name == "lab-fade" ? -40 : -60
        #expect(scenario.accessPoints.map(\.place) == [.signal(-50), .signal(backup)])
        let isRefused = scenario.accessPoints.last?.password != scenario.networks.last?.password
        #expect(isRefused == (name == "lab-wrong-password"))
    }

    // MARK: Files

    @Test func whatIsNotThereIsSaid() {
        #expect(
            message("no-such-thing")
                == "no-such-thing: expected a scenario of the library, or a path to a .scenario file, found neither")
        #expect(
            message("gone.scenario")
                == "gone.scenario: expected a file that can be read, found an error: No such file or directory")
        #expect(message("/tmp/") == "/tmp/: expected a file that can be read, found an error: Is a directory")
    }

    @Test func aFileWithoutEndIsNotReadForEver() {
        #expect(message("/dev/zero") == "/dev/zero: expected at most 65536 bytes, found more")
    }

    @Test func aFileIsCalledByItsNameAndItsErrorsByItsPath() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("scenario-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("my-house.scenario").path
        try Data(SimulationDocument.example().utf8).write(to: URL(fileURLWithPath: path))
        #expect(try ScenarioLibrary.scenario(named: path).name == "my-house")
        try Data("title My house\nabout Mine.\nduration 4\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(message(path)?.hasPrefix(path + ":3: expected ") == true)
    }

    private func message(_ name: String) -> String? {
        do throws(ScenarioError) {
            _ = try ScenarioLibrary.scenario(named: name)
            return nil
        } catch {
            return error.description
        }
    }
}
