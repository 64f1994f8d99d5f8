import Measuring
import Testing

@testable import Lab

@Suite struct PageTests {
    private func runs(_ figure: Figure, _ values: [StackName: Double?]) -> [Run] {
        values.map { stack, value in
            let measured = value.map(Measured.value) ?? .never(limit: .seconds(120))
            return Run(
                caseName: "t", stack: stack.rawValue, time: .virtual, readings: [FigureReading(figure, measured)])
        }
    }

    private func goal(_ text: String, in runs: [Run]) -> Goal? {
        Goal.all(of: runs, in: .virtual).first { $0.text.contains(text) }
    }

    // MARK: Goals

    @Test func aHardLossIsHeldAgainstIwds() throws {
        let runs = self.runs(.hardLoss24CN, [.altnet: 0.9, .iwd: 2])
        #expect(try #require(goal("at most 1.0 s", in: runs)).isMet)
        let share = try #require(self.goal("half of iwd's", in: runs))
        #expect(share.isMet && share.measured == 0.45)
    }

    @Test func theSlowestOfAllLossesCounts() throws {
        let runs = self.runs(.hardLoss24CN, [.altnet: 0.5]) + self.runs(.hardLoss5US, [.altnet: 1.5])
        let goal = try #require(self.goal("at most 1.0 s", in: runs))
        #expect(!goal.isMet && goal.measured == 1.5)
    }

    @Test func whoNeverComesThereIsBeatenByAnything() throws {
        let runs = self.runs(.wrongPassword40, [.altnet: 2, .iwd: nil, .connMan: nil])
        #expect(try #require(goal("a quarter", in: runs)).measured == 0)
    }

    @Test func theBestPeerIsTheMeasure() throws {
        let runs = self.runs(.wrongPassword40, [.altnet: 2, .iwd: 45, .networkManager: 4, .connMan: nil])
        let goal = try #require(self.goal("a quarter", in: runs))
        #expect(!goal.isMet && goal.measured == 0.5)
    }

    @Test func altnetThatNeverComesMeetsNothing() throws {
        let runs = self.runs(.coldStart, [.altnet: nil, .iwd: nil])
        #expect(!(try #require(goal("cold start", in: runs)).isMet))
    }

    @Test func whatWasNotMeasuredIsNoGoal() {
        #expect(Goal.all(of: [], in: .virtual).isEmpty)
        #expect(goal("half of iwd's", in: runs(.hardLoss24CN, [.altnet: 1])) == nil)
    }

    @Test func twoStationsLoseNothing() throws {
        let runs = self.runs(.commandLost, [.altnet: 5, .altnetSpare: 0])
        #expect(try #require(goal("commanded switch with two stations", in: runs)).isMet)
        let worse = self.runs(.commandLost, [.altnetSpare: 1])
        #expect(!(try #require(goal("commanded switch with two stations", in: worse)).isMet))
    }

    @Test func idlenessIsMeasuredBeyondTheSupplicants() throws {
        let runs =
            self.runs(.idleSwitches, [.altnet: 40]) + self.runs(.supplicantSwitches, [.altnet: 9, .supplicant: 7])
        let goal = try #require(self.goal("context switches", in: runs))
        #expect(goal.measured == 33 && !goal.isMet)
    }

    // MARK: Tables

    @Test func aCellTellsHowManyTimesAltnetsItIs() {
        let page = BenchmarkPage(
            ReleaseResults(runs(.coldStart, [.altnet: 0.5, .iwd: 1, .connMan: nil])), machine: "",
            command: "make bench")
        #expect(
            page.markdown.contains("| Cold start until a ping, s | 0.50 | 1.00 ×2.0 | - | - | - | never in 120 s |"))
    }

    @Test func thePageTellsHowManyRunsThereAre() {
        let once = runs(.coldStart, [.altnet: 0.5, .iwd: 1])
        func isOneToTwo(_ runs: [Run]) -> Bool {
            BenchmarkPage(ReleaseResults(runs), machine: "", command: "").markdown
                .contains("(least..most) of 1 to 2 runs, virtual")
        }
        #expect(!isOneToTwo(once))
        #expect(isOneToTwo(once + runs(.coldStart, [.iwd: 2])))
    }

    @Test func thePageKeepsWhatAPersonWrote() throws {
        let marks = BenchmarkPage.marks
        let page = "# Title\n\n\(marks.begin)\nold\n\(marks.end)\n\nThe end.\n"
        let written = try #require(BenchmarkPage.replacing(in: page, by: "new"))
        #expect(written == "# Title\n\n\(marks.begin)\n\nnew\n\n\(marks.end)\n\nThe end.\n")
        #expect(BenchmarkPage.replacing(in: written, by: "new") == written)
        #expect(BenchmarkPage.replacing(in: "no marks", by: "new") == nil)
    }

    @Test func aRunThatFailedIsTold() {
        let runs = [Run(caseName: "restart", stack: "iwd", time: .virtual, failure: "it broke\nin two lines")]
        let page = BenchmarkPage(ReleaseResults(runs), machine: "", command: "make bench")
        #expect(page.markdown.contains("- restart, iwd, virtual time: it broke\n"))
    }

    @Test func figuresOfAnEarlierReleaseAreShownWhereTheyDifferClearly() {
        let older = ReleaseResults(
            runs(.coldStart, [.iwd: 1, .networkManager: 2, .connMan: 5]), packages: "Debian 12: iwd 2.3")
        let newer = ReleaseResults(
            runs(.coldStart, [.iwd: 1.2, .networkManager: 4, .connMan: nil]), packages: "Debian 13: iwd 3.8")
        let text = BenchmarkPage(newer, earlier: older, machine: "", command: "make bench").markdown
        #expect(text.contains("### Debian 12's packages, where the figures differ clearly, virtual time"))
        #expect(text.contains("|  | Debian 12 | Debian 13 |"))
        #expect(text.contains("| NetworkManager: `cold-start`, s | 2.00 | 4.00 |"))
        #expect(text.contains("| ConnMan: `cold-start`, s | 5.00 | never in 120 s |"))
        #expect(!text.contains("iwd: `cold-start`"))
        #expect(text.contains("- Debian 13: iwd 3.8\n- Debian 12: iwd 2.3\nCommand"))
        #expect(!BenchmarkPage(newer, earlier: newer, machine: "", command: "").markdown.contains("differ clearly"))
    }

    // MARK: The plot

    @Test func thePlotShowsThePage() {
        let runs = self.runs(.coldStart, [.altnet: 0.5, .iwd: nil])
        let results = ReleaseResults(runs)
        let svg = BenchmarkPlot(page: BenchmarkPage(results, machine: "", command: "").markdown).svg
        #expect(svg.hasPrefix("<svg ") && svg.hasSuffix("</svg>\n"))
        #expect(svg.contains(">0.50 s<") && svg.contains(">never<"))
        #expect(svg.split(separator: ">not measured<").count == StackName.allCases.count - 2)
        #expect(
            BenchmarkPlot.panels.map { svg.contains(">\($0.title)<") }
                == BenchmarkPlot.panels.map {
                    $0.figure == .coldStart
                })
    }

    @Test func anEmptyPlotIsAPicture() {
        #expect(BenchmarkPlot(page: "").svg.hasSuffix("</svg>\n"))
    }
}

@Suite struct SummaryTests {
    private func readings(_ values: [Double?], waited: Int = 120) -> [FigureReading] {
        values.map { FigureReading(.hardLoss24CN, $0.map(Measured.value) ?? .never(limit: .seconds(waited))) }
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

    @Test func summariesDifferIfTheirRangesAndMediansDo() throws {
        func differs(_ low: [Double?], _ high: [Double?]) throws -> Bool {
            let (low, high) = (try #require(Summary(readings(low))), try #require(Summary(readings(high))))
            #expect(low.differsClearly(from: high) == high.differsClearly(from: low))
            return low.differsClearly(from: high)
        }
        #expect(try differs([1, 2], [2.6, 3]))
        #expect(try differs([1, 2], [nil, nil]))
        #expect(try differs([0], [1]))
        #expect(try !differs([1, 2], [2, 4]))
        #expect(try !differs([1, 1.1], [1.2, 1.3]))
        #expect(try !differs([nil, nil], [nil]))
    }

    @Test func nothingHasNoSummary() { #expect(Summary([]) == nil) }

    @Test func runsOfOtherStacksAndTimesDoNotCount() throws {
        let runs = [
            Run(caseName: "t", stack: "iwd", time: .virtual, readings: readings([1])),
            Run(caseName: "t", stack: "iwd", time: .clock, readings: readings([5])),
            Run(caseName: "t", stack: "altnet", time: .virtual, readings: readings([7])),
            Run(caseName: "t", stack: "iwd", time: .virtual, failure: "it broke"),
        ]
        let summary = try #require(runs.summary(.hardLoss24CN, of: .iwd, in: .virtual))
        #expect(summary.median == 1 && summary.runs == 1)
    }
}
