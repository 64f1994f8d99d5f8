import Failover
import Randomness
import Testing

@testable import PolicyProperties

/// Properties of every history, in as many as there is time for here; `altnet-lab torture-policy` runs millions.
// covers: seed/no-ping-pong
@Suite struct PropertyTests {
    /// Every eighth of the first seeds, of which a thorough run tries `all`.
    private func share(_ part: UInt64, of all: Int) -> some Sequence<UInt64> {
        stride(from: part, to: UInt64(Rounds.of(all)), by: 8)
    }

    @Test(arguments: 0..<8)
    func holdWhateverHappens(part: UInt64) throws {
        _ = try Campaign.hostile.run(seeds: share(part, of: 20_000))
    }

    /// Counterexamples that campaigns found.
    @Test(arguments: [
        1_909_314, 2_310_617, 2_690_760, 5_111_343, 5_455_588, 5_640_322, 6_108_567, 7_721_569, 4_712_488, 9_962_547,
        32, 678, 1254,
    ])
    func holdInHistoriesThatBrokeThem(seed: UInt64) throws { _ = try Campaign.hostile.run(seeds: [seed]) }

    /// An answer with the number of a scan that is ordered at the same moment, but later, does not end that scan: what
    /// the scan takes is known when the next answer comes, and that is what the next scan of all channels costs.
    @Test func anAnswerBeforeItsOrderEndsNoScan() {
        let history = HostileHistory(
            steps: [
                Step(delay: 0, stimuli: [.networks([1, 2, 3], preferred: nil), .interface(true), .supplicant(true)]),
                Step(delay: 0, stimuli: [.scanned(.latest, [.init(accessPoint: 7, signal: -31)])]),
                Step(delay: 1999, stimuli: [.associated(.latest, accessPoint: 2)]),
                Step(delay: 1, stimuli: [.scanned(.future, [.init(accessPoint: 6, signal: -87)]), .address(true)]),
                Step(delay: 1, stimuli: [.scanned(.latest, [.init(accessPoint: 8, signal: -66)])]),
                Step(delay: 0, stimuli: [.settings(.patient)]),
                Step(delay: 0, stimuli: [.signal(-88)]),
                Step(delay: 0, stimuli: [.scanned(.latest, [])]),
                Step(delay: 30_000, isPunctual: false, stimuli: [.tick]),
            ], settings: PolicySettings())
        #expect(history.violation() == nil, "\(history.story)")
    }

    /// The histories tried here must reach every situation: in an earlier drawing 8033 histories did not see what a
    /// handover does to a command without its wpa_supplicant. The least is about half of what these seeds have.
    @Test func theShareThatIsTriedHereGoesThroughEverything() {
        var histories: [Situation: Int] = [:]
        for seed in UInt64(0)..<400 {
            for situation in HostileHistory.random(seed: seed).situations { histories[situation, default: 0] += 1 }
        }
        let least: [Situation: Int] = [
            .online: 180, .validation: 110, .handover: 100, .validatedHandover: 75, .validatingHandover: 15,
            .settingsDuringJoin: 8, .settingsDuringHandover: 22, .supplicantLostDuringHandover: 30,
            .interfaceLostDuringHandover: 15, .addressLostDuringHandover: 25, .linkLostDuringHandover: 22,
            .spareLostDuringHandover: 6, .commandDuringHandover: 35, .sleepDuringHandover: 20, .fallToSuccessor: 40,
            .succession: 7, .rollback: 100, .standby: 4, .linkLostWithStandby: 2,
        ]
        for situation in Situation.allCases {
            let (count, wanted) = (histories[situation, default: 0], least[situation] ?? .max)
            #expect(count >= wanted, "\(situation) is in \(count) of 400 histories, and has to be in \(wanted)")
        }
    }

    @Test(arguments: [1, 137, 8033])
    func aSeedDrawsOneHistory(seed: UInt64) {
        let (first, second) = (HostileHistory.random(seed: seed), HostileHistory.random(seed: seed))
        #expect(first.history.steps == second.history.steps && first.history.settings == second.history.settings)
        #expect(first.situations == second.situations)
        #expect(first.history.steps != HostileHistory.random(seed: seed + 1).history.steps)
    }

    // covers: rule/promise-online, rule/promise-internet, rule/promise-outcome, rule/promise-memory
    @Test(arguments: 0..<8)
    func holdInEveryPlausibleWorld(part: UInt64) throws {
        let worst = try Campaign.plausible.run(seeds: share(part, of: 1600))
        // A campaign in which nothing happens would prove nothing.
        #expect(worst.stranded > .seconds(1))
        #expect(worst.outcome > .seconds(1))
    }

    /// An hour of each: histories that dance at all do so in every hour.
    // covers: rule/promise-moves
    @Test(arguments: 0..<8) func nearEqualNetworksCauseNoDance(part: UInt64) throws {
        let worst = try Campaign.nearEquals.run(seeds: share(part, of: 400), hours: 1)
        #expect(worst.hours.values.reduce(0, +) == worst.histories)
    }

    // covers: rule/promise-wakes
    @Test(arguments: LastingState.allCases, [nil, PolicySettings.Validation()])
    func lastingStatesRarelyWakeTheDevice(state: LastingState, validation: PolicySettings.Validation?) throws {
        var settings = PolicySettings()
        settings.validation = validation
        _ = try state.wakesPerHour(settings: settings)
    }

    // covers: rule/promise-memory
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
