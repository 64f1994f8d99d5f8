import Failover
import Foundation
import Testing

@testable import Simulation

@Suite struct OracleTests {
    /// No policy costs less, whatever the air is like.
    @Test(arguments: ScenarioLibrary.names) func nobodyBeatsIt(name: String) throws {
        var scenario = try ScenarioLibrary.scenario(named: name)
        scenario.duration = min(scenario.duration, .seconds(7200))
        for seed in UInt64(1)...2 {
            let heat = Heat(scenario, seed: seed)
            for result in heat.results {
                // A move that saves less than a millisecond is not made, and moves begin every 200 ms while a quality
                // changes.
                let moves = Double(result.switches + result.roams + heat.oracle.way.count)
                let tolerance = 0.001 * moves + 0.0005 * heat.oracle.cost + 0.001
                #expect(
                    Measure().cost(of: result) >= heat.oracle.cost - tolerance,
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
        // 0.1 s of association and 0.3 s for the address at the start; ten seconds; association while the power
        // returns.
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

@Suite struct PolicyGoalsTests {
    private func comparison(
        _ name: String, costs: [Double], reacting: Double = 10, firstSeed: UInt64 = 1, switches: Double = 4
    ) -> Comparison {
        // Half a day: figures a day are twice those of a pass.
        let passes = costs.enumerated().map { index, cost in
            CostRatios.Pass(seed: firstSeed + UInt64(index), cost: cost, reacting: reacting)
        }
        func row(_ policy: String, switches: Double, returns: Double = 0) -> Comparison.Row {
            Comparison.Row(
                policy: policy, outagePerDay: 1, switchesPerDay: switches, returnsPerDay: returns, roamsPerDay: 0)
        }
        return Comparison(
            scenario: name, title: name, seeds: costs.count, duration: .seconds(43_200),
            rows: [row("altnet", switches: switches, returns: 2), row("iwd", switches: 0), row("oracle", switches: 4)],
            ratios: [CostRatios(passes: passes, bestPeer: "iwd", overBestPeer: 1.1, overReacting: 1.3, overOracle: 1.4)]
        )
    }

    /// The earlier run, as it comes back from its JSON.
    private func baseline(
        _ comparisons: [Comparison], firstRandom: UInt64? = nil, scenarios: [String]? = nil, seeds: [UInt64]? = nil
    ) throws -> PolicyBaseline {
        let report = PolicyReport(comparisons, PolicyGoals(of: comparisons), firstRandom: firstRandom)
        return try baseline(
            JSONText.of(report), scenarios: scenarios ?? comparisons.map(\.scenario),
            seeds: seeds ?? comparisons[0].ratios[0].passes.map(\.seed))
    }

    private func baseline(_ text: String, scenarios: [String], seeds: [UInt64]) throws -> PolicyBaseline {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("report-\(UUID().uuidString)").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        do throws(BaselineError) {
            return try PolicyBaseline(contentsOf: file, scenarios: scenarios, seeds: seeds)
        } catch {
            throw Refusal(text: "\(error)".replacingOccurrences(of: file, with: "FILE"))
        }
    }

    private struct Refusal: Error, Equatable { let text: String }

    /// Figures by name.
    private func goals(_ goals: PolicyGoals) -> [String: PolicyGoals.Goal] {
        Dictionary(uniqueKeysWithValues: goals.goals.map { ($0.name, $0) })
    }

    private let total = "total cost of a pass of each scenario"
    private let regret = "mean regret to the reacting oracle"
    private let worse = "scenarios worse than before beyond the confidence interval"

    @Test func withoutAnEarlierRunOnlySwitchesHaveAGoal() throws {
        let goals = PolicyGoals(of: [
            comparison("a", costs: [12, 14]), comparison("b", costs: [20, 20], switches: 20),
        ])
        #expect(goals.goals.compactMap(\.isMet) == [false, false])
        #expect(self.goals(goals)[total]?.reached == "33.0 s")
        // The passes have mean regrets of 12 and 14 s a day.
        #expect(self.goals(goals)[regret]?.reached == "13.0 +-12.7 s/d")
        #expect(goals.scores.map(\.switches) == [2, 10] && goals.scores.map(\.returns) == [1, 1])
        #expect(goals.scores.map(\.oracleSwitches) == [2, 2])
        let rows = goals.render(TextStyle(hasColour: false), limit: nil).split(separator: "\n")
        #expect(rows[2].hasPrefix("  b") && rows[3].hasPrefix("  a"), "the greatest regret is first")
    }

    @Test func theCostOfAllMayGrowByTwoPercent() throws {
        let before = try baseline([comparison("a", costs: [100, 200])])
        let more = goals(PolicyGoals(of: [comparison("a", costs: [102, 204])], before: before))
        #expect(more[total]?.isMet == true)
        #expect(more[total]?.reached == "153.0 s, 150.0 before, ratio 1.020")
        #expect(goals(PolicyGoals(of: [comparison("a", costs: [103, 204])], before: before))[total]?.isMet == false)
    }

    /// Passes are paired: what both runs owe to a seed is no change.
    @Test func aScenarioIsWorseBeyondTheIntervalOfItsChange() throws {
        let before = try baseline(["a", "b", "c"].map { comparison($0, costs: [10, 100, 1000]) })
        let now = [
            comparison("a", costs: [11, 101.5, 1001]), comparison("b", costs: [9, 150, 990]),
            comparison("c", costs: [9, 99, 999]),
        ]
        let goal = goals(PolicyGoals(of: now, before: before))[worse]
        #expect(goal?.isMet == false && goal?.wanted == "none")
        #expect(goal?.reached == "1 of 3, 1 better")
        #expect(goal?.furthest == ["a +2.3 +-1.4 s/d"])
        let same = ["a", "b", "c"].map { comparison($0, costs: [10, 100, 1000]) }
        #expect(goals(PolicyGoals(of: same, before: before))[worse]?.isMet == true)
    }

    @Test func onePassHasNoInterval() throws {
        let before = try baseline([comparison("a", costs: [10])])
        let goal = goals(PolicyGoals(of: [comparison("a", costs: [12])], before: before))["scenarios worse than before"]
        #expect(goal?.isMet == nil && goal?.wanted == nil)
        #expect(goal?.furthest == ["a +4.0 s/d"])
    }

    /// The luck of random scenarios is that of the draw.
    @Test func randomScenariosMustNotHaveMoreRegret() throws {
        let before = try baseline([comparison("a", costs: [10]), comparison("b", costs: [20])], firstRandom: 1)
        func goal(_ costs: Double...) -> PolicyGoals.Goal? {
            let now = zip(["a", "b"], costs).map { comparison($0, costs: [$1]) }
            return goals(PolicyGoals(of: now, before: before, isRandom: true))[regret]
        }
        #expect(goal(11, 19)?.isMet == true)
        #expect(goal(11, 19)?.reached == "10.0 +-101.6 s/d, 10.0 +-127.1 before, change 0.0 +-25.4")
        #expect(goal(11, 20)?.isMet == false)
    }

    @Test func anEarlierRunHasToBeOfTheSameScenariosAndSeeds() throws {
        let earlier = [comparison("a", costs: [1, 2]), comparison("b", costs: [3, 4])]
        func refusal(_ firstRandom: UInt64? = nil, scenarios: [String]? = nil, seeds: [UInt64]? = nil) -> String? {
            do {
                _ = try baseline(earlier, firstRandom: firstRandom, scenarios: scenarios, seeds: seeds)
                return nil
            } catch {
                return (error as? Refusal)?.text
            }
        }
        #expect(refusal() == nil)
        #expect(refusal(scenarios: ["b", "a"]) == nil)
        #expect(
            refusal(scenarios: ["a"])
                == "FILE is of other scenarios. Write it again, or use its arguments: a b --seeds 2")
        #expect(
            refusal(seeds: [1]) == "FILE is of other seeds. Write it again, or use its arguments: a b --seeds 2")
        #expect(
            refusal(7, scenarios: ["c", "d"])
                == "FILE is of other scenarios. Write it again, or use its arguments: --random 2 --seed 7 --seeds 2")
    }

    @Test(arguments: ["", "[]", "{}", #"{"standings":[]}"#, #"{"standings":[{"scenario":"a","costs":[]}]}"#])
    func aFileWithoutCostsIsRefused(text: String) {
        #expect(
            throws: Refusal(
                text: "no costs of passes in the file. Write it with the other policy's "
                    + "'altnet-lab bench-policy --json': FILE")
        ) { try baseline(text, scenarios: ["a"], seeds: [1]) }
        #expect(throws: BaselineError.unreadable(RecordError(file: "/tmp", reason: .notAFile))) {
            try PolicyBaseline(contentsOf: "/tmp", scenarios: ["a"], seeds: [1])
        }
    }
}
