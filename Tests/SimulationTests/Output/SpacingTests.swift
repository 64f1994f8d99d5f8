import Randomness
import Testing

@testable import Simulation

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
