import Testing

@testable import Simulation

/// The models against what the programs themselves took in the lab (medians, two known networks, WPA2, DHCP, domain
/// CN).
@Suite struct PeerCalibrationTests {
    @Test(arguments: [(Peer.wpaSupplicant, 12.4, 2.5), (.networkManager, 18.8, 3), (.iwd, 2.0, 0.7)])
    func powerCut(peer: Peer, seconds: Double, tolerance: Double) throws {
        let scenario = try ScenarioLibrary.scenario(named: "lab-power-cut")
        let median = try Self.median { Self.gap(at: .seconds(61), in: scenario, of: peer, seed: $0) }
        #expect(abs(median - seconds) < tolerance, "\(peer.name): \(median)")
    }

    /// iwd knows its channels when it starts, and the model does not.
    @Test(arguments: [(Peer.wpaSupplicant, 8.9, 2), (.networkManager, 5.0, 1.5), (.iwd, 0.8, 2)])
    func coldStart(peer: Peer, seconds: Double, tolerance: Double) throws {
        let scenario = try ScenarioLibrary.scenario(named: "lab-power-cut")
        let median = try Self.median { Self.gap(at: .zero, in: scenario, of: peer, seed: $0) }
        #expect(abs(median - seconds) < tolerance, "\(peer.name): \(median)")
    }

    /// The moment of home's return in a wait of up to 20 or 40 s is chance, in the lab as well.
    @Test(arguments: [(Peer.wpaSupplicant, 11.7, 5), (.networkManager, 8.2, 16), (.iwd, 45.5, 9)])
    func wrongPassword(peer: Peer, seconds: Double, tolerance: Double) throws {
        var scenario = try ScenarioLibrary.scenario(named: "lab-wrong-password")
        let home = try #require(scenario.accessPoints.first { $0.name == "home" })
        scenario.happenings = [
            Scenario.Happening(at: .seconds(60), .power(ap: home.name, isOn: false)),
            Scenario.Happening(at: .seconds(100), .power(ap: home.name, isOn: true)),
        ]
        let median = try Self.median { Self.gap(at: .seconds(61), in: scenario, of: peer, seed: $0).map { $0 - 40 } }
        #expect(abs(median - seconds) < tolerance, "\(peer.name): \(median)")
    }

    /// "Signal fades to -85 while the backup is at -40" and "the preferred network returns": no peer ever does.
    @Test(arguments: [Peer.wpaSupplicant, .networkManager, .iwd, .espHome])
    func noneLeavesALivingLink(peer: Peer) throws {
        var scenario = try ScenarioLibrary.scenario(named: "lab-power-cut")
        scenario.accessPoints[1].isOn = false
        scenario.happenings = [
            Scenario.Happening(at: .seconds(40), .power(ap: "backup", isOn: true)),
            Scenario.Happening(at: .seconds(60), .signal(ap: "home", -85, over: .zero)),
        ]
        #expect(Self.run(scenario, peer, seed: 1).switches == 0)

        scenario.accessPoints[0].isOn = false
        scenario.accessPoints[1].isOn = true
        scenario.happenings = [Scenario.Happening(at: .seconds(60), .power(ap: "home", isOn: true))]
        #expect(Self.run(scenario, peer, seed: 1).switches == 0)
    }

    @Test func theStrongestIsChased() throws {
        var scenario = try ScenarioLibrary.scenario(named: "lab-power-cut")
        scenario.happenings = [
            Scenario.Happening(at: .seconds(60), .signal(ap: "home", -70, over: .zero)),
            Scenario.Happening(at: .seconds(120), .signal(ap: "home", -50, over: .zero)),
        ]
        #expect(Self.run(scenario, .strongest, seed: 1).switches == 2)
    }

    @Test(arguments: Peer.all) func theSameAirGivesTheSameRun(peer: Peer) throws {
        let scenario = try ScenarioLibrary.scenario(named: "street-power-cut")
        let first = Self.run(scenario, peer, seed: 3)
        let second = Self.run(scenario, peer, seed: 3)
        #expect(first.outage == second.outage)
        #expect(first.events == second.events)
    }

    private static func run(_ scenario: Scenario, _ peer: Peer, seed: UInt64) -> RunResult {
        Simulation.run(scenario, seed: seed, recordsTimeline: true, policyName: peer.name, timing: peer.timing) { _ in
            peer.makePolicy()
        }
    }

    /// How long nothing got through around a moment, in seconds; nil where the scan at the start had missed home, and
    /// the device was elsewhere.
    private static func gap(at moment: Duration, in scenario: Scenario, of peer: Peer, seed: UInt64) -> Double? {
        let outages = run(scenario, peer, seed: seed).timeline?.outages ?? []
        return outages.first { $0.contains(moment) }.map { ($0.upperBound - $0.lowerBound).inSeconds }
    }

    private static func median(_ figure: (UInt64) -> Double?) throws -> Double {
        let figures = (1...21).compactMap(figure).sorted()
        try #require(figures.count > 15)
        return figures[figures.count / 2]
    }
}
