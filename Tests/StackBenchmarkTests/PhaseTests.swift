import Testing

@testable import Lab

@Suite struct PhaseTests {
    @Test func anyNumberOfRunsIsSpreadOverTheSecond() {
        for count in [2, 3, 5, 8, 20] {
            let fractions = (0..<count).map { Phase(ofRun: $0).fraction }.sorted()
            #expect(fractions.allSatisfy { (0..<1).contains($0) })
            let gaps = zip(fractions, fractions.dropFirst() + [fractions[0] + 1]).map { $1 - $0 }
            #expect(gaps.allSatisfy { $0 > 0.4 / Double(count) && $0 < 2 / Double(count) }, "\(fractions)")
        }
    }

    @Test func theNextMomentIsWithinASecond() {
        let phase = Phase(ofRun: 0)
        #expect(phase == Phase(ofRun: 0))
        for moment in [Duration.zero, .milliseconds(49), .milliseconds(51), .milliseconds(12_345), .seconds(7)] {
            let distance = phase.distance(from: moment)
            #expect(distance >= .zero && distance <= .seconds(1))
            let reached = moment + distance
            let fraction = reached - .seconds(reached.components.seconds)
            #expect(abs(fraction / .seconds(1) - phase.fraction) < 1e-6, "\(moment)")
        }
    }
}
