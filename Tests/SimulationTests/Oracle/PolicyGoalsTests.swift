import Testing

@testable import Simulation

@Suite struct PolicyGoalsTests {
    @Test func ratiosCarryTheGraceAndArePerPass() throws {
        // Half a day: figures a day are twice those of a pass.
        let goals = PolicyGoals(
            of: [Self.comparison("one", altnet: (7, 8, 2), peer: 19, oracle: (1, 4))], hard: ["one"])
        let standing = try #require(goals.standings.first)
        #expect(standing.overOracle == 4)
        #expect(standing.overBestPeer == 0.4)
        #expect(standing.bestPeer == "iwd")
        #expect(standing.switches == 4)
        #expect(standing.returns == 1)
        #expect(standing.oracleSwitches == 2)
        #expect(goals.goals.map(\.isMet) == [false, false, false, true, false, true])
        #expect(goals.goals[1].furthest == ["one 4.00"])
    }

    @Test func whatIsGoodEnoughMeetsAllGoals() {
        let good = Self.comparison("good", altnet: (1.2, 3, 0), peer: 20, oracle: (1, 2))
        let goals = PolicyGoals(of: [good], hard: ["good"])
        #expect(goals.goals.filter { !$0.isMet }.isEmpty)
    }

    @Test func whoLosesMoreThanAPeerIsNamed() {
        let bad = Self.comparison("bad", altnet: (4, 0, 0), peer: 3, oracle: (3, 0))
        let goals = PolicyGoals(of: [bad], hard: [])
        #expect(goals.goals[3].furthest == ["bad 1.25 (iwd)"])
        #expect(goals.goals[2].isMet, "there is no hard scenario")
    }

    /// About weak signal or dead internet, or not.
    @Test(arguments: [
        ("dead-internet", true), ("lab-fade", true), ("robot-four-cells", true), ("slow-fading", true),
        ("quiet", false), ("lab-power-cut", false), ("router-update", false), ("near-equal", false),
    ])
    func hardScenarios(name: String, isHard: Bool) throws {
        let scenario = try ScenarioLibrary.scenario(named: name)
        #expect(scenario.isHard == isHard)
    }

    private static func comparison(
        _ name: String, altnet: (outage: Double, switches: Double, returns: Double), peer: Double,
        oracle: (outage: Double, switches: Double)
    ) -> Comparison {
        func row(_ policy: String, _ outage: Double, _ switches: Double = 0, _ returns: Double = 0) -> Comparison.Row {
            Comparison.Row(
                policy: policy, outagePerDay: outage, switchesPerDay: switches, returnsPerDay: returns, roamsPerDay: 0,
                regretPerDay: outage - oracle.outage)
        }
        return Comparison(
            scenario: name, title: name, seeds: 1, duration: .seconds(43_200),
            rows: [
                row("altnet", altnet.outage, altnet.switches, altnet.returns), row("iwd", peer),
                row("ESPHome", peer + 5),
                row("oracle", oracle.outage, oracle.switches),
            ])
    }
}
