import Failover
import Testing

@testable import Simulation

/// A link that is cut for a second again and again: what `bench-policy` shows over 20 seeds, over a few in a short time.
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
