import AgentModel
import Foundation
import MQTTBridge
import Simulation
import Testing

@testable import Fleet

/// Upgrades of sixty devices in virtual time. The operator sees only the simulated broker's messages.
// covers: seed/user-fleet
@Suite struct UpgradeTests {
    @Test func badVersionStopsAtTheFirstStage() throws {
        try UpgradeBench.run { bench in
            let fleet = try bench.upgrade(to: Release("9.0.0", isBad: true))
            #expect(fleet.results.map(\.every) == [6, 1] && fleet.isTakenBack)
            #expect(fleet.results.first?.isGood == false)
            #expect(fleet.results.last?.upgraded == 60)
            #expect(bench.versions == ["0.1.0"])
        }
    }

    @Test func goodVersionReachesAllDevices() throws {
        try UpgradeBench.run { bench in
            _ = try bench.upgrade(to: Release("9.0.0", isBad: true))
            let fleet = try bench.upgrade(to: Release("9.0.1"))
            #expect(fleet.results.map(\.every).prefix(3) == [6, 2, 1] && !fleet.isTakenBack)
            #expect(fleet.results.last?.upgraded == 60)
            #expect(bench.versions == ["9.0.1"])
            // Some devices lost their power, and their updater has undone the first trial.
            #expect(bench.fleet.upgradeOutcome.powerCuts > 0)
        }
    }

    @Test func stateSurvivesEveryChangeOfTheVersion() throws {
        try UpgradeBench.run { bench in
            let before = bench.fleet.slots.map(\.device.state.backups)
            _ = try bench.upgrade(to: Release("9.0.0", isBad: true))
            let outcome = bench.fleet.upgradeOutcome
            #expect(outcome.undone > 0 && outcome.handovers >= 20 && outcome.changedStates == 0)
            #expect(bench.fleet.slots.map(\.device.state.backups) == before)
            // The old version keeps what only a later one reads.
            #expect(bench.fleet.slots.contains { !$0.device.state.kept.isEmpty })
        }
    }
}

private struct UpgradeBench {
    let fleet: Fleet
    private let broker: SimulatedBroker
    private static let devices = 60

    static func run(_ body: (inout UpgradeBench) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + "altnet-" + UUID().uuidString.prefix(8)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var bench = try UpgradeBench(folder)
        try body(&bench)
    }

    private init(_ folder: String) throws {
        broker = SimulatedBroker(devices: Self.devices, nodes: 1)
        var settings = Fleet.Settings(
            devices: Self.devices, scenario: try ScenarioLibrary.scenario(named: "quiet"))
        settings.keyFiles = folder
        fleet = try Fleet(settings, over: broker)
        fleet.start(10)
        let isConnected = fleet.run(until: { [fleet] in fleet.connected == Self.devices }, within: .seconds(60))
        #expect(isConnected)
    }

    var versions: Set<String> { Set(fleet.slots.map(\.device.version)) }

    func upgrade(to release: Release) throws -> UpgradeOperator {
        let (old, spread) = ("0.1.0", Duration.seconds(20))
        var fleetOperator = UpgradeOperator(
            devices: Self.devices, from: old, to: release.version, stages: [6, 2, 1],
            limit: spread + Updater.reboot * 2 + Updater.health + .seconds(60))
        broker.connectOperator()
        defer { broker.disconnectOperator() }
        func perform(_ effects: [UpgradeOperator.Effect]) {
            for case .install(let version, let every) in effects {
                fleet.upgrade(to: version == old ? Release(old) : release, every: every, within: spread)
            }
        }
        perform(fleetOperator.start(at: fleet.now))
        _ = fleet.run(
            until: {
                for message in broker.drainInbox() { fleetOperator.record(message) }
                perform(fleetOperator.tick(at: fleet.now))
                return fleetOperator.isOver
            }, within: .seconds(3600))
        try #require(fleetOperator.isOver)
        return fleetOperator
    }
}
