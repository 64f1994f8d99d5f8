import AgentModel
import Failover
import Testing

@testable import Simulation

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
            Listener { if case .proven = $0 { proven.append($0) } }
        }
        let home = World(scenario, seed: 1).tracks[0].bssid
        #expect(proven == [.proven(NetworkID(1), home)])
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
