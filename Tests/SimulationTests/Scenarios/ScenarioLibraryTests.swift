import AgentModel
import Failover
import Foundation
import Testing

@testable import Simulation

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
        } else if name.hasPrefix("walk-") {
            #expect(scenario.accessPoints.allSatisfy { $0.shadowing == 0 && $0.fading == 0 }, "recorded with its noise")
        } else {
            #expect((.seconds(3600) ... .seconds(24 * 3600)).contains(scenario.duration))
        }
    }

    /// A network that only probing shows to be useless is found out.
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
            let path = SimulationDocument.root.appendingPathComponent(
                "Sources/Bench/Simulation/Scenarios/\(name).scenario")
            #expect(try ScenarioLibrary.scenario(named: path.path) == ScenarioLibrary.scenario(named: name))
        }
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
        let unknown = error("no-such-thing")
        #expect(unknown?.file == "no-such-thing" && unknown?.expected.contains(".scenario") == true)
        let missing = error("gone.scenario")
        #expect(missing?.file == "gone.scenario" && missing?.found.hasSuffix(String(cString: strerror(ENOENT))) == true)
        let folder = error("/tmp/")
        #expect(folder?.file == "/tmp/" && folder?.found.hasSuffix(String(cString: strerror(EISDIR))) == true)
    }

    @Test func aFileWithoutEndIsNotReadForEver() {
        let endless = error("/dev/zero")
        #expect(endless?.file == "/dev/zero" && endless?.expected.contains("65536") == true)
    }

    @Test func aFileIsCalledByItsNameAndItsErrorsByItsPath() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("scenario-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("my-house.scenario").path
        try Data(SimulationDocument.example().utf8).write(to: URL(fileURLWithPath: path))
        #expect(try ScenarioLibrary.scenario(named: path).name == "my-house")
        try Data("title My house\nabout Mine.\nduration 4\n".utf8).write(to: URL(fileURLWithPath: path))
        let wrong = error(path)
        #expect(wrong?.file == path && wrong?.line == 3)
    }

    private func error(_ name: String) -> ScenarioError? {
        do throws(ScenarioError) {
            _ = try ScenarioLibrary.scenario(named: name)
            return nil
        } catch {
            return error
        }
    }
}

/// A link that is cut for a second again and again: what `bench-policy` shows over 20 seeds, over a few in a short
/// time.
@Suite struct LostLinkScenarioTests {
    @Test(arguments: [5, 10, 20, 30, 40, 55, 70, 300]) func aCutLinkIsNoFailure(every seconds: Int) throws {
        var scenario = try ScenarioLibrary.scenario(named: "cuts-\(seconds)s")
        scenario.duration = .seconds(seconds < 100 ? 600 : 1500)
        let heats = (UInt64(1)...3).map { Heat(scenario, seed: $0) }
        func total(_ outage: (Heat) -> Duration) -> Double { heats.map { outage($0).inSeconds }.reduce(0, +) }
        let altnet = total { $0.results[0].outage }
        #expect(altnet <= 1.5 * total(\.reacting.outage))
        for (index, peer) in Peer.all.enumerated() {
            #expect(altnet <= total { $0.results[index + 1].outage }, "\(peer.name)")
        }
    }

    /// With a backup that is as good there is no reason to go back and forth.
    @Test func aRouterThatThrowsTheDeviceOutIsNoDance() throws {
        let scenario = try ScenarioLibrary.scenario(named: "thrown-out")
        for seed in UInt64(1)...3 {
            let result = Simulation.run(scenario, seed: seed)
            #expect(result.switches <= 12)
            #expect(result.outage <= .seconds(30))
        }
    }
}

/// Access points of the home's name, stronger than it and with another key.
@Suite struct RogueScenarioTests {
    @Test(arguments: ["rogues-static", "rogues-changing"], [UInt64(1), 2, 3])
    func theDeviceIsBackWithinTenSeconds(name: String, seed: UInt64) throws {
        let scenario = try ScenarioLibrary.scenario(named: name)
        let result = Simulation.run(scenario, seed: seed, recordsTimeline: true)
        let returns = scenario.happenings.compactMap { happening in
            if case .power("home", isOn: true) = happening.change { happening.at } else { nil }
        }
        #expect(returns.count == 7)
        for outage in try #require(result.timeline).outages where outage.upperBound < scenario.duration {
            let back = returns.last { $0 <= outage.upperBound } ?? .zero
            #expect(outage.upperBound - back <= .seconds(10), "outage from \(outage.lowerBound)")
        }
        #expect(result.timeline?.decisions.contains { $0.kind == .blocked } == false)
    }

    @Test(arguments: ["rogues-static", "rogues-changing", "rogues-backup"])
    func nobodyFaresBetter(name: String) throws {
        let scenario = try ScenarioLibrary.scenario(named: name)
        func outage(_ run: (UInt64) -> RunResult) -> Duration {
            (UInt64(1)...3).map { run($0).outage }.reduce(.zero, +)
        }
        let altnet = outage { Simulation.run(scenario, seed: $0) }
        for peer in Peer.all {
            let other = outage { seed in
                Simulation.run(scenario, seed: seed, policyName: peer.name, timing: peer.timing) { _ in
                    peer.makePolicy()
                }
            }
            #expect(altnet <= other, "\(peer.name)")
        }
    }

    /// The device was in its networks before the scenario begins, and in none that its password does not open.
    @Test func whatTheDeviceKnowsAtTheBeginning() throws {
        let scenario = try ScenarioLibrary.scenario(named: "rogues-static")
        var proven: [PolicyEvent] = []
        _ = Simulation.run(scenario, seed: 1, duration: .seconds(1)) { _ in
            Listener { if case .verified = $0 { proven.append($0) } }
        }
        let home = World(scenario, seed: 1).tracks[0].bssid
        #expect(proven == [.verified(NetworkID(1), home)])
    }

    private struct Listener: LinkPolicy {
        let nextWake: Instant? = nil
        let hear: (PolicyEvent) -> Void

        init(_ hear: @escaping (PolicyEvent) -> Void) { self.hear = hear }

        mutating func handle(_ event: PolicyEvent, at now: Instant) -> [PolicyAction] {
            hear(event)
            return []
        }
    }
}

/// Docs/contributor/simulator.md, whose example is tested.
enum SimulationDocument {
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func lines() throws -> [Substring] {
        try String(contentsOf: root.appendingPathComponent("Docs/contributor/simulator.md"), encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// The scenario that explains the format.
    static func example() throws -> String {
        let lines = try lines()
        let start = try #require(lines.firstIndex(of: "```scenario"))
        return lines[(start + 1)...].prefix { $0 != "```" }.joined(separator: "\n")
    }
}
