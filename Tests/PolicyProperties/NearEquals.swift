import AgentModel
import Failover
import Randomness

/// Hours among networks that are as good as each other, with noise on every measurement and nothing else.
package struct NearEquals {
    /// How many living links were left in each hour.
    package let departuresPerHour: [Int]
    package let levels: [Int]
    /// Standard deviation of a measurement, in tenths of a dB.
    package let noise: Int

    package init(seed: UInt64, hours: Int) throws(Violation) {
        var random = SeededRandom(seed: seed)
        var traits = World.Traits()
        traits.seed = random.next()
        noise = random.element([0, 10, 20, 30, 40, 50, 60])
        traits.noise = noise
        traits.isSupervised = random.chance(1, in: 2)
        traits.fullScan = random.element([2000, 5000, 14_000])
        // From good to so weak that every sample calls for something better.
        let middle = Int.random(in: -88 ... -55, using: &random)
        levels = (0..<Int.random(in: 2...6, using: &random)).map { _ in
            middle + Int.random(in: -3...3, using: &random)
        }
        var world = World(settings: .random(using: &random), traits: traits)
        try world.begin()
        try world.perform(
            Turn(delay: 0, change: .networks([0, 1, 2, 3, 4], preferred: random.chance(1, in: 2) ? 0 : nil)))
        for (index, level) in levels.enumerated() {
            try world.perform(Turn(delay: 0, change: .level(index, level)))
            try world.perform(Turn(delay: 0, change: .power(index, isOn: true)))
        }
        let start = world.now
        try world.run(until: start + .seconds(3600) * hours)
        var counts = Array(repeating: 0, count: hours)
        for departure in world.departures {
            counts[min(hours - 1, Int((departure - start).milliseconds / 3_600_000))] += 1
        }
        departuresPerHour = counts
        let floor = PolicySettings().twoPointFour.minimumSignal
        // Within the noise of the floor counts as below it.
        let isDying = levels.allSatisfy { $0 < floor + 3 }
        let limit = isDying || noise >= 50 ? Bounds.switchesPerHourAtMost : Bounds.switchesPerHour
        guard let most = counts.max(), most <= limit else {
            throw Violation(.fewSwitches, "\(counts) switches an hour, levels \(levels), noise \(noise)", at: world.now)
        }
    }
}
