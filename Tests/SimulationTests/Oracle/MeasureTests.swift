import Testing

@testable import Simulation

@Suite struct MeasureTests {
    /// A minute of two networks: everything by hand.
    @Test func burdensAreWhatTheyAreByHand() throws {
        var scenario = try ScenarioLibrary.scenario(named: "lab-power-cut")
        scenario.happenings = []
        scenario.accessPoints[0].place = .signal(-75)
        scenario.accessPoints[1].place = .signal(-60)
        let table = BurdenTable(World(scenario, seed: 1))
        let home = table.burden(of: 0, in: 1500..<11_500)
        // 19.5 Mbit/s at -75 dBm, 65 at -60.
        let missed = 1 - LinkRate.utility(at: -75, share: 1)
        #expect(abs(missed - (1 - 0.7210)) < 0.001)
        #expect(abs(home.worse - 10 * missed) < 1e-9)
        #expect(home.away == 0)
        let backup = table.burden(of: 1, in: 1500..<11_500)
        #expect(backup.worse == 0)
        #expect(abs(backup.away - 10) < 1e-9)
    }

    @Test func onlyWhatGetsThroughIsMissedElsewhere() throws {
        var scenario = try ScenarioLibrary.scenario(named: "lab-power-cut")
        scenario.happenings = [
            Scenario.Happening(at: .seconds(10), .internet(ap: "backup", .dead)),
            Scenario.Happening(at: .seconds(20), .internet(ap: "backup", .online)),
            Scenario.Happening(at: .seconds(20), .power(ap: "home", isOn: false)),
        ]
        let table = BurdenTable(World(scenario, seed: 1))
        #expect(table.burden(of: 1, in: 10_000..<20_000) == BurdenTable.Burden())
        #expect(table.burden(of: 1, in: 20_000..<40_000) == BurdenTable.Burden(), "home is not good")
        #expect(abs(table.burden(of: 1, in: 0..<10_000).away - 10) < 1e-9)
    }

    @Test func theRatesAreTheStandards() {
        let rates = [(-64.0, 65.0), (-64.5, 58.5), (-66, 52), (-70, 39), (-74, 26), (-77, 19.5), (-79, 13), (-83, 6.5)]
        for (signal, rate) in rates { #expect(LinkRate.rate(at: signal) == rate, "\(signal) dBm") }
        #expect(LinkRate.utility(at: -50, share: 1) == 1)
        #expect(LinkRate.utility(at: -50, share: 0) == 0)
    }

    @Test func theWeightsAreThoseOfTheDocument() {
        let measure = Measure()
        #expect(measure.cost(outage: 3, worse: 100, away: 600, switches: 2, roams: 10) == 3 + 2 + 1 + 1 + 1)
        #expect(Measure.variants.count == 9)
        #expect(Measure.variants[0].measure == measure)
    }
}

@Suite struct SeedFiguresTests {
    @Test func theIntervalIsStudents() throws {
        // Mean 3, standard deviation 1.5811, of five: 2.776 x 1.5811 / sqrt 5.
        let sample = SeedSample([1, 2, 3, 4, 5])
        #expect(sample.mean == 3)
        #expect(abs(try #require(sample.error) - 1.963) < 0.001)
        #expect(SeedSample([1]).error == nil)
    }

    @Test func aRatioThatIsTheSameInEverySeedIsSure() throws {
        let ratio = PairedRatio([2, 4, 6], [1, 2, 3], grace: 0)
        #expect(ratio.value == 2)
        #expect(try #require(ratio.error) < 1e-9)
        #expect(PairedRatio([1], [0], grace: 0.5).value == 3)
    }
}
