import Failover
import Testing

@testable import Simulation

@Suite struct OracleTests {
    /// Whoever decides, and whatever the air is like: nobody loses less.
    @Test(arguments: ScenarioLibrary.names) func nobodyBeatsIt(name: String) throws {
        var scenario = try ScenarioLibrary.scenario(named: name)
        scenario.duration = min(scenario.duration, .seconds(7200))
        for seed in UInt64(1)...2 {
            let heat = Heat(scenario, seed: seed)
            for result in heat.results {
                // A move that saves less than a millisecond is not made, and moves begin every 200 ms while a quality changes.
                let moves = Double(result.switches + result.roams + heat.oracle.way.count)
                let tolerance = 0.001 * moves + 0.0005 * heat.oracle.outage.inSeconds + 0.001
                #expect(
                    result.outage.inSeconds >= heat.oracle.outage.inSeconds - tolerance,
                    "\(scenario.name), \(result.policy), seed \(seed)")
            }
        }
    }

    @Test func aPowerCutCostsTwoJoins() throws {
        var scenario = try ScenarioLibrary.scenario(named: "lab-power-cut")
        scenario.accessPoints[1].isOn = false
        scenario.happenings = [
            Scenario.Happening(at: .seconds(60), .power(ap: "home", isOn: false)),
            Scenario.Happening(at: .seconds(70), .power(ap: "backup", isOn: true)),
        ]
        let outcome = Oracle.run(scenario, seed: 1)
        // 0.1 s of association and 0.3 s for the address at the start; ten seconds; association while the power returns.
        #expect(abs(outcome.outage.inSeconds - 10.8) < 0.11)
        #expect(outcome.switches == 1)
        #expect(outcome.way.map(\.accessPoint) == [0, 1])
    }

    @Test func whoSleepsLosesNothing() throws {
        var scenario = try ScenarioLibrary.scenario(named: "lab-power-cut")
        scenario.happenings = [
            Scenario.Happening(at: .seconds(60), .suspend(for: .seconds(60))),
            Scenario.Happening(at: .seconds(300), .otherUplink(.wired)),
            Scenario.Happening(at: .seconds(310), .power(ap: "home", isOn: false)),
            Scenario.Happening(at: .seconds(310), .power(ap: "backup", isOn: false)),
        ]
        let outcome = Oracle.run(scenario, seed: 1)
        // The join at the start, and the one after the sleep.
        #expect(abs(outcome.outage.inSeconds - 0.8) < 0.01)
    }

    @Test func withoutForesightItBeginsAtHomeAndNoticesLate() throws {
        let scenario = try ScenarioLibrary.scenario(named: "lab-power-cut")
        let reacting = Oracle.run(scenario, seed: 1, foresight: .none)
        #expect(abs(reacting.outage.inSeconds - (0.4 + 0.2 + 0.4)) < 0.11)
        #expect(reacting.way.map(\.accessPoint) == [0, 1])
        #expect(Oracle.run(scenario, seed: 1).way.map(\.accessPoint) == [1])
    }
}
