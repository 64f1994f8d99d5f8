import Testing

@testable import Fleet

/// What a fleet's devices meet while a password is changed, and how it is reckoned.
@Suite struct RotationChangeTests {
    @Test func oneInTenIsWrongAndOneInTwentyLosesItsPower() {
        let stories = (0..<10_000).map(RotationScenario.init)
        #expect(stories.count { $0.router == .newer } == 9000)
        #expect(stories.count { $0.router == .old } == 500)
        #expect(stories.count { $0.cutAfter != nil } == 500)
        #expect(stories.contains { $0.cutAfter != nil && $0.router != .newer })
        let cuts = stories.compactMap { story in story.cutAfter.map { $0 < story.routerAfter } }
        #expect(cuts.contains(true) && cuts.contains(false))
        #expect(stories == (0..<10_000).map(RotationScenario.init))
    }

    @Test func theTimeIsThatOfTheLastOfTheShare() {
        var outcome = RotationOutcome()
        (outcome.devices, outcome.right, outcome.connected) = (100, 100, 99)
        outcome.committedBySecond = [10: 90, 40: 9]
        #expect(outcome.seconds(untilCommitted: 0.9) == 10 && outcome.seconds(untilCommitted: 0.99) == 40)
        #expect(outcome.seconds(untilCommitted: 1) == nil && outcome.lost == 1)
        let sum = outcome + outcome
        #expect(sum.committedBySecond == [10: 180, 40: 18] && sum.right == 200 && sum.lost == 2)
    }
}
