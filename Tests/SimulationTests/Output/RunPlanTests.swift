import AgentModel
import FoundationEssentials
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

    /// The runs of the plan, and their results when each run loses one second.
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

@Suite struct RunDocumentTests {
    @Test func aDocumentComesBackAsItWas() throws {
        let document = RunsDocument([RunDocument(RunTotals(Sample.result(nil)), timeline: Sample.timeline())])
        let text = try JSONText.of(document)
        #expect(try JSONDecoder().decode(RunsDocument.self, from: Data(text.utf8)) == document)
    }

    @Test(arguments: 0..<20 as Range<UInt64>) func whateverHappenedCanBeWritten(seed: UInt64) throws {
        let result = Sample.random(seed: seed).1
        let document = RunDocument(RunTotals(result), timeline: result.timeline)
        let text = try JSONText.of(document)
        #expect(try JSONDecoder().decode(RunDocument.self, from: Data(text.utf8)) == document)
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || String($0).printable == String($0) })
    }

    @Test func theKeysAreThoseThatProgramsRelyOn() throws {
        let document = RunDocument(RunTotals(Sample.result(nil)), timeline: Sample.timeline())
        let text = try JSONText.of(document)
        for line in [
            #""scenario" : "power-cut""#, #""policy" : "altnet""#, #""seed" : 7"#, #""runs" : 1"#, #""seconds" : 3600"#,
            #""outageSeconds" : 36"#, #""outageSecondsPerDay" : 864"#, #""switches" : 1"#, #""eventsPerHour" : 120"#,
            #""kind" : "join""#, #""to" : "BackupNet""#, #""accessPoint" : 1"#, #""text" : "router loses power""#,
        ] { #expect(text.contains(line), "\(line)") }
    }

    @Test func aComparisonComesBackAsItWas() throws {
        var row = Comparison.Row(
            policy: "altnet", outagePerDay: 1.5, switchesPerDay: 2, returnsPerDay: 1, roamsPerDay: 0)
        (row.costPerDay, row.costError, row.regretPerDay) = (2.5, 0.5, 0.25)
        let comparison = Comparison(scenario: "s", title: "t", seeds: 5, duration: .seconds(3600), rows: [row])
        let document = ComparisonsDocument([comparison])
        let text = try JSONText.of(document)
        #expect(try JSONDecoder().decode(ComparisonsDocument.self, from: Data(text.utf8)) == document)
        #expect(text.contains(#""regretSecondsPerDay" : 0.25"#))
        #expect(text.contains(#""costSecondsPerDay" : 2.5"#))
    }
}

@Suite struct FiguresTests {
    @Test(
        arguments: [
            (0.05, 1, "0.1"), (-0.04, 1, "0.0"), (-1.25, 2, "-1.25"), (1234.5, 0, "1235"), (.nan, 1, "-"),
            (.infinity, 1, "-"),
            (1e300, 1, "-"), (2.999, 2, "3.00"),
        ] as [(Double, Int, String)]) func fixed(number: Double, places: Int, text: String)
    {
        #expect(number.fixed(places) == text)
    }

    @Test(
        arguments: [
            (0, "0 s"), (40, "0.04 s"), (1600, "1.6 s"), (2000, "2 s"), (59_990, "1 min"), (250_000, "4 min 10 s"),
            (7_500_000, "2 h 5 min"),
            (86_400_000, "1 d"), (3_600_000_000_000, "41666 d 16 h"),
        ] as [(Int64, String)]) func inWords(milliseconds: Int64, text: String)
    {
        #expect(Duration.milliseconds(milliseconds).inWords == text)
    }

    @Test(
        arguments: [
            (60, ["0:00:00", "0:00:10"], 7), (3600, ["0:00", "0:10"], 7), (14_400, ["0:00", "0:30"], 9),
            (86_400, ["0:00", "3:00"], 9), (31_536_000, ["0:00", "1008:00"], 9), (0, ["0:00:00"], 1),
        ] as [(Int64, [String], Int)]) func marksOfTime(seconds: Int64, first: [String], count: Int)
    {
        let axis = TimeAxis(.seconds(seconds))
        #expect(axis.marks.prefix(2).map(axis.label) == first)
        #expect(axis.marks.count == count)
    }
}
