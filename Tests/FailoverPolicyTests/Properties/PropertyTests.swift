import AgentModel
import FailoverPolicy
import PolicyProperties
import Testing

/// What must hold in every history, in as many as there is time for here; `altnet-lab torture-policy` runs millions.
@Suite struct PropertyTests {
    @Test(arguments: 0..<8)
    func holdWhateverHappens(part: UInt64) throws {
        _ = try Campaign.hostile.run(seeds: (part * 50)..<(part * 50 + 50))
    }

    @Test(arguments: 0..<8)
    func holdInEveryPlausibleWorld(part: UInt64) throws {
        let worst = try Campaign.plausible.run(seeds: (part * 10)..<(part * 10 + 10))
        // A campaign in which nothing happens would prove nothing.
        #expect(worst.stranded > .seconds(1))
        #expect(worst.outcome > .seconds(1))
    }

    @Test func nearEqualNetworksCauseNoDance() throws {
        let worst = try Campaign.nearEquals.run(seeds: 0..<3)
        #expect(worst.hours.values.reduce(0, +) == 24)
    }

    @Test(arguments: LastingState.allCases, [nil, PolicySettings.Validation()])
    func lastingStatesWakeTheDeviceSeldom(state: LastingState, validation: PolicySettings.Validation?) throws {
        var settings = PolicySettings()
        settings.validation = validation
        _ = try state.wakesPerHour(settings: settings)
    }

    @Test func whatIsKeptDoesNotGrow() throws {
        let life = try Strangers(seed: 1, events: 10_000)
        // It holds something, or nothing was measured.
        #expect(life.ever > 20)
    }

    @Test(arguments: 0..<4)
    func sameHistoryGivesTheSameActions(seed: UInt64) {
        let history = HostileHistory.random(seed: seed, length: 200).history
        let story = history.story
        #expect(story.contains("=> join"))
        #expect(story == history.story)
    }
}
