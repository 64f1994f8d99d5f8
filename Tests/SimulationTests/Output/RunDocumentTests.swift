import AgentModel
import FoundationEssentials
import Testing

@testable import Simulation

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
        let rows = [
            Comparison.Row(
                policy: "altnet", outagePerDay: 1.5, switchesPerDay: 2, returnsPerDay: 1, roamsPerDay: 0,
                regretPerDay: 0.25)
        ]
        let comparison = Comparison(scenario: "s", title: "t", seeds: 5, duration: .seconds(3600), rows: rows)
        let document = ComparisonsDocument([comparison])
        let text = try JSONText.of(document)
        #expect(try JSONDecoder().decode(ComparisonsDocument.self, from: Data(text.utf8)) == document)
        #expect(text.contains(#""regretSecondsPerDay" : 0.25"#))
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
            (60, ["0:00:00", "0:00:05"], 13), (3600, ["0:00", "0:05"], 13), (14_400, ["0:00", "0:30"], 9),
            (86_400, ["0:00", "2:00"], 13), (31_536_000, ["0:00", "840:00"], 11), (0, ["0:00:00"], 1),
        ] as [(Int64, [String], Int)]) func marksOfTime(seconds: Int64, first: [String], count: Int)
    {
        let axis = TimeAxis(.seconds(seconds))
        #expect(axis.marks.prefix(2).map(axis.label) == first)
        #expect(axis.marks.count == count)
    }
}
