import Failover
import Randomness
import Testing

@testable import Simulation

@Suite struct TextTableTests {
    private let plain = TextStyle(hasColour: false)

    @Test func columnsAlignWhateverTheNamesAre() {
        var table = TextTable(headings: ["NAME", "A", "BB"])
        table.rows = [["好的", "1", "22.5"], ["x\u{1b}[2J\n", "100", "3"], ["e\u{301}", "7", "8"]]
        let lines = table.lines(plain)
        #expect(
            lines == [
                "NAME            A     BB",
                "好的            1   22.5",
                "x\\x1b[2J\\x0a  100      3",
                "e\\xcc\\x81       7      8",
            ])
        #expect(Set(lines.map(\.columns)).count == 1)
    }

    @Test func aMarkIsAStarWhereThereIsNoColour() {
        var table = TextTable(headings: ["P", "X"])
        table.rows = [["a", .init("1", isMarked: true)], ["b", "2"]]
        #expect(table.lines(plain) == ["P  X", "a  1*", "b  2"])
        let coloured = table.lines(TextStyle(hasColour: true))
        #expect(coloured[1] == "a  \u{1b}[32m1\u{1b}[0m*")
    }
}

@Suite struct RunTableTests {
    private var totals: RunTotals {
        var totals = RunTotals(Sample.result(nil))
        totals.add(Sample.result(nil))
        return totals
    }

    @Test func totalsAreSumsAndRatesAreMeans() {
        #expect(totals.runs == 2 && totals.sum.duration == .seconds(7200) && totals.sum.outage == .seconds(72))
        #expect(totals.perDay(totals.sum.switches) == 24)
        #expect(totals.share(totals.sum.scanTime) == 4.0 / 7200)
    }

    @Test func everyFigureIsAdded() {
        var one = RunResult(scenario: "s", policy: "p", seed: 3)
        (one.switches, one.returns, one.roams, one.joins, one.failedJoins) = (1, 2, 3, 4, 5)
        (one.scans, one.probes, one.events, one.committed, one.rolledBack, one.failed) = (6, 7, 8, 9, 10, 11)
        one.refused = 12
        (one.scanTime, one.scanTimeOnLink) = (.seconds(12), .seconds(13))
        var totals = RunTotals(one)
        totals.add(one)
        let sum = totals.sum
        #expect([sum.switches, sum.returns, sum.roams, sum.joins, sum.failedJoins] == [2, 4, 6, 8, 10])
        #expect(
            [sum.scans, sum.probes, sum.events, sum.committed, sum.rolledBack, sum.failed] == [12, 14, 16, 18, 20, 22])
        #expect(sum.refused == 24)
        #expect([sum.scanTime, sum.scanTimeOnLink] == [.seconds(24), .seconds(26)])
    }

    @Test func aTableHasAnOutageADayAndEventsAnHour() {
        let lines = RunTable([totals]).render(TextStyle(hasColour: false)).split(separator: "\n")
        let row = lines.last?.split(separator: " ").map(String.init)
        #expect(
            row == [
                "power-cut", "2", "h", "1", "min", "12", "s", "864.0", "s", "24.0", "0.0", "0.0", "0.0", "0.0", "24.0",
                "0.06", "0", "120.0",
            ])
    }

    @Test func commandsAreToldWhereThereWereSome() {
        var result = Sample.result(nil)
        (result.committed, result.failed) = (2, 1)
        let text = RunTable([RunTotals(result)]).render(TextStyle(hasColour: false))
        #expect(text.hasSuffix("\npower-cut: commands 2 committed, 1 failed"))
    }

    @Test func decisionsHaveTheirTimeAndReason() {
        let decisions = Sample.timeline().decisions
        #expect(
            DecisionList(Sample.timeline()).render(TextStyle(hasColour: false)) == """
                  0:30:01.0  \(decisions[0].text)
                  0:30:04.0  \(decisions[1].text)
                """)
    }
}

@Suite struct RunExplanationTests {
    private let plain = TextStyle(hasColour: false)

    @Test func outageStaysAndTheOraclesWay() throws {
        var result = Sample.result(Sample.timeline())
        result.outage = .seconds(40)
        let best = Oracle.Outcome(
            outage: .milliseconds(1500), cost: 2, switches: 1, roams: 0,
            way: [
                .init(start: .zero, arrival: .milliseconds(400), accessPoint: 0),
                .init(start: .seconds(1800), arrival: .milliseconds(1_801_100), accessPoint: 1),
            ])
        #expect(
            try #require(RunExplanation(of: result, best: best)).render(plain) == """
                OUTAGE  40 s: nothing got through for 36 s, the rest was lost on bad links
                  0:30:00.0  36 s

                ACCESS POINTS IN USE
                  0:00:00.0  router for 30 min
                  0:30:36.0  repeater for 29 min 24 s

                ACCESS POINTS OF THE ORACLE  1.5 s of outage
                  0:00:00.4  router
                  0:30:01.1  repeater
                """)
        #expect(RunExplanation(of: Sample.result(nil), best: best) == nil)
    }

    @Test func theLongestOutagesAreTold() throws {
        var timeline = Sample.timeline()
        timeline.outages = (1...15).map { .seconds($0 * 100)..<(.seconds($0 * 100 + $0)) }
        let best = Oracle.Outcome(outage: .zero, cost: 0, switches: 0, roams: 0, way: [])
        let text = try #require(RunExplanation(of: Sample.result(timeline), best: best)).render(plain)
        let lines = text.split(separator: "\n").dropFirst().prefix(13)
        #expect(lines.first == "  0:06:40.0  4 s" && lines.last == "  and 3 shorter")
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func anythingCanBeTold(seed: UInt64) throws {
        let (_, result) = Sample.random(seed: seed)
        let way = (-1..<60).map { Oracle.Stop(start: .zero, arrival: .zero, accessPoint: $0) }
        let best = Oracle.Outcome(outage: .zero, cost: 0, switches: 0, roams: 0, way: way)
        let text = try #require(RunExplanation(of: result, best: best)).render(plain)
        #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control && $0 != "\n" })
    }
}

@Suite struct ComparisonTableTests {
    private func row(_ policy: String, _ outage: Double, _ switches: Double) -> Comparison.Row {
        var row = Comparison.Row(
            policy: policy, outagePerDay: outage, switchesPerDay: switches, returnsPerDay: 0, roamsPerDay: 1)
        (row.costPerDay, row.regretPerDay) = (outage + 1, outage - 1)
        row.costError = policy == "altnet" ? 0.25 : nil
        return row
    }

    private func table(_ rows: [Comparison.Row]) -> [String] {
        let comparison = Comparison(scenario: "s", title: "T\u{7}", seeds: 5, duration: .seconds(3600), rows: rows)
        return ComparisonTable(comparison).render(TextStyle(hasColour: false)).split(separator: "\n").map(String.init)
    }

    @Test func theBestOfEachColumnIsMarkedAndTheOracleIsNoPeer() {
        let lines = table([row("altnet", 2.04, 3), row("iwd", 2.01, 2), row("slow", 9, 3), row("oracle", 1, 1)])
        #expect(lines[0] == "s: T\\x07 (5 runs of 1 h)")
        #expect(lines[2].split(separator: " ") == ["altnet", "3.0*", "0.3", "2.0*", "1.0*", "3.0", "0.0", "1.0"])
        #expect(lines[3].split(separator: " ") == ["iwd", "3.0*", "-", "2.0*", "1.0*", "2.0*", "0.0", "1.0"])
        #expect(lines[4].split(separator: " ") == ["slow", "10.0", "-", "9.0", "8.0", "3.0", "0.0", "1.0"])
        #expect(lines[5].split(separator: " ") == ["oracle", "2.0", "-", "1.0", "0.0", "1.0", "0.0", "1.0"])
    }
}

@Suite struct SpacingTests {
    @Test func whatHasRoomStays() {
        #expect(Spacing.spread([10, 40, 70], gap: 20, within: 0...100) == [10, 40, 70])
    }

    @Test func whatIsInOnePlaceSpreadsAroundIt() {
        #expect(Spacing.spread([50, 50, 50], gap: 10, within: 0...100) == [40, 50, 60])
    }

    @Test func theEdgeIsNotPassed() {
        #expect(Spacing.spread([0, 0], gap: 10, within: 0...100) == [0, 10])
        #expect(Spacing.spread([99, 100], gap: 10, within: 0...100) == [90, 100])
        #expect(Spacing.spread([-500], gap: 10, within: 0...100) == [0])
        #expect(Spacing.spread([], gap: 10, within: 0...100) == [])
    }

    @Test func withoutRoomTheyMoveCloser() {
        #expect(Spacing.spread([1, 1, 1, 1, 1], gap: 100, within: 0...8) == [0, 2, 4, 6, 8])
    }

    @Test(arguments: 0..<50 as Range<UInt64>) func placesAreOrderedApartAndInside(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let wanted = (0..<Int.random(in: 2...12, using: &random)).map { _ in
            Double.random(in: -50...150, using: &random)
        }.sorted()
        let places = Spacing.spread(wanted, gap: 7, within: 0...100)
        #expect(zip(places, places.dropFirst()).allSatisfy { $1 - $0 > 6.999 })
        #expect(places.allSatisfy { (-0.001...100.001).contains($0) })
    }

    private func flag(_ x: Double, width: Double = 30) -> Spacing.Flag { .init(x: x, label: x...(x + width)) }

    private func rows(_ flags: [Spacing.Flag], first: [Bool]? = nil, count: Int, gap: Double) -> [Int?] {
        Spacing.rows(flags, first: first ?? flags.map { _ in true }, count: count, gap: gap)
    }

    @Test func labelsApartShareARow() {
        #expect(rows([flag(0), flag(50)], count: 3, gap: 5) == [0, 0])
    }

    @Test func theEarlierLabelGoesAboveThePolesThatItCovers() {
        #expect(rows([flag(0), flag(10), flag(20)], count: 3, gap: 5) == [2, 1, 0])
    }

    @Test func whatHasNoRoomHasNoLabel() {
        #expect(rows([flag(0), flag(10), flag(20)], count: 2, gap: 5) == [nil, 1, 0])
        #expect(rows([flag(0)], count: 0, gap: 5) == [nil])
    }

    @Test func whatComesFirstHasRoomBeforeTheOthers() {
        let flags = [flag(0), flag(10), flag(20)]
        #expect(rows(flags, first: [true, false, false], count: 1, gap: 5) == [0, nil, nil])
    }

    @Test func aLabelLeftOfItsPoleClearsTheOthers() {
        let last = Spacing.Flag(x: 100, label: 60...99)
        #expect(rows([flag(50, width: 20), last], count: 3, gap: 2) == [0, 1])
    }
}
