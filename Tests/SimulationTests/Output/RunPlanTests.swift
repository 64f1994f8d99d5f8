import AgentModel
import Synchronization
import Testing

@testable import Simulation

@Suite struct RunPlanTests {
    private struct Order: Hashable {
        let scenario: String
        let seed: UInt64
        let duration: Duration
        let recordsTimeline: Bool
    }

    /// What the plan has run, and what came of it when each run loses one second.
    private func orders(_ plan: RunPlan, jobs: Int = 3) async -> (Set<Order>, RunPlan.Outcome) {
        let orders = Mutex<[Order]>([])
        let outcome = await plan.run(
            jobs: jobs,
            by: { scenario, seed, duration, recordsTimeline in
                let order = Order(
                    scenario: scenario.name, seed: seed, duration: duration, recordsTimeline: recordsTimeline)
                orders.withLock { $0.append(order) }
                var result = RunResult(scenario: scenario.name, policy: "stub", seed: seed)
                result.duration = duration
                result.outage = .seconds(1)
                result.timeline = recordsTimeline ? Timeline(duration: duration) : nil
                return result
            })
        let made = orders.withLock { $0 }
        #expect(Set(made).count == made.count)
        return (Set(made), outcome)
    }

    private func scenario(_ name: String, hours: Int) -> Scenario {
        Scenario(name: name, title: "", about: "", duration: .seconds(hours * 3600))
    }

    @Test func everyPassHasItsSeedAndOnlyTheVeryFirstATimeline() async {
        let plan = RunPlan(
            [scenario("a", hours: 1), scenario("b", hours: 2)], seed: 10, extent: .passes(2), recordsFirst: true)
        let (made, outcome) = await orders(plan)
        #expect(
            made == [
                Order(scenario: "a", seed: 10, duration: .seconds(3600), recordsTimeline: true),
                Order(scenario: "a", seed: 11, duration: .seconds(3600), recordsTimeline: false),
                Order(scenario: "b", seed: 10, duration: .seconds(7200), recordsTimeline: false),
                Order(scenario: "b", seed: 11, duration: .seconds(7200), recordsTimeline: false),
            ])
        #expect(outcome.first?.seed == 10 && outcome.first?.timeline != nil)
        #expect(outcome.totals.map(\.scenario) == ["a", "b"])
        #expect(outcome.totals.map(\.runs) == [2, 2] && outcome.totals.map(\.seed) == [10, 10])
        #expect(outcome.totals.map(\.sum.outage) == [.seconds(2), .seconds(2)])
    }

    @Test(arguments: [1, 23, 24, 25, 1000, 999_999, 1_000_000])
    func hoursAreSharedOutToTheLast(hours: Int) async {
        let plan = RunPlan([scenario("day", hours: 24)], seed: .max, extent: .hours(hours), recordsFirst: false)
        let (made, outcome) = await orders(plan)
        #expect(plan.duration == .seconds(hours * 3600))
        #expect(outcome.totals.first?.sum.duration == plan.duration)
        // No life is longer than 1000 h or, but for the last one, shorter than a pass.
        #expect(made.allSatisfy { $0.duration <= .seconds(1000 * 3600) })
        #expect(made.count { $0.duration < .seconds(24 * 3600) } <= 1)
    }

    @Test func itMakesNoDifferenceHowManyRunAtOnce() async {
        let plan = RunPlan([scenario("day", hours: 24)], seed: 1, extent: .hours(500), recordsFirst: false)
        #expect(await orders(plan, jobs: 1).0 == orders(plan, jobs: 7).0)
    }
}

@Suite struct NearbyNamesTests {
    private let names = NearbyNames(["elevator", "fleet", "lab-power-cut", "quiet", "street-power-cut"])

    @Test(
        arguments: [
            ("power", ["lab-power-cut", "street-power-cut"]), ("elevtor", ["elevator"]), ("FLEET", ["fleet"]),
            ("quite", ["quiet"]), ("kitchen-sink", []), ("", []), (String(repeating: "x", count: 10_000), []),
        ] as [(String, [String])]) func whatMayHaveBeenMeant(text: String, near: [String])
    {
        #expect(names.nearest(to: text) == near)
    }
}
