import Testing

@testable import Lab

@Suite struct SummaryTests {
    private func readings(_ values: [Double?], waited: Int = 120) -> [Reading] {
        values.map { Reading(.hardLoss24CN, $0.map(Measured.value) ?? .never(limit: .seconds(waited))) }
    }

    @Test func theMedianOfAnOddNumberIsTheMiddleOne() throws {
        let summary = try #require(Summary(readings([3, 1, 2])))
        #expect(summary.median == 2)
        #expect(summary.text(.seconds) == "2.00 (1.00..3.00)")
    }

    @Test func theMedianOfAnEvenNumberIsBetweenTheMiddleOnes() throws {
        let summary = try #require(Summary(readings([4, 1, 2, 3])))
        #expect(summary.median == 2.5)
    }

    @Test func oneRunIsNoRange() throws {
        #expect(try #require(Summary(readings([12.34]))).text(.seconds) == "12.3")
    }

    @Test func neverIsLongerThanAnything() throws {
        let summary = try #require(Summary(readings([nil, 2, 3])))
        #expect(summary.median == 3)
        #expect(summary.text(.seconds) == "3.00 (2.00..never)")
        let mostly = try #require(Summary(readings([nil, nil, 3])))
        #expect(mostly.median == .infinity)
        #expect(mostly.text(.seconds) == "never (3.00..never)")
    }

    @Test func aMedianBetweenSomethingAndNeverIsNever() throws {
        #expect(try #require(Summary(readings([1, nil]))).median == .infinity)
    }

    @Test func neverSaysHowLongWasWaited() throws {
        let summary = try #require(Summary(readings([nil, nil], waited: 180)))
        #expect(summary.text(.seconds) == "never in 180 s")
    }

    @Test func nothingHasNoSummary() { #expect(Summary([]) == nil) }

    @Test func runsOfOtherStacksAndTimesDoNotCount() throws {
        let runs = [
            Run(trial: "t", stack: "iwd", time: .virtual, readings: readings([1])),
            Run(trial: "t", stack: "iwd", time: .clock, readings: readings([5])),
            Run(trial: "t", stack: "altnet", time: .virtual, readings: readings([7])),
            Run(trial: "t", stack: "iwd", time: .virtual, failure: "it broke"),
        ]
        let summary = try #require(runs.summary(.hardLoss24CN, of: .iwd, in: .virtual))
        #expect(summary.median == 1 && summary.runs == 1)
    }
}
