import AgentModel
import Failover
import Randomness

/// A history of a world that could be: everything that the policy orders is answered, and nothing comes unasked for.
package struct PlausibleHistory: Shrinkable, Sendable {
    package var steps: [Turn]
    package let settings: PolicySettings
    package let traits: World.Traits

    package static func simpler(_ turn: Turn) -> [Turn] { turn.simpler }

    package static func joined(_ first: Turn, _ second: Turn) -> Turn {
        Turn(delay: first.delay + second.delay, change: second.change)
    }

    package func violation() -> Violation? {
        var world = World(settings: settings, traits: traits)
        return live(in: &world)
    }

    /// Lives through it all, and through the calm that follows.
    package func live(in world: inout World) -> Violation? {
        do {
            try world.begin()
            for turn in steps { try world.perform(turn) }
            try world.run(until: world.now + Bounds.validated + Bounds.onlineAfterFailures)
            return nil
        } catch {
            return error
        }
    }

    /// Its events, as a user reads them.
    package var story: String {
        var world = World(settings: settings, traits: traits)
        let told = Told()
        world.trace = { told.story.add($0, $1, $2) }
        let violation = live(in: &world)
        let code = steps.map { "  \($0)" }.joined(separator: "\n")
        return """
            \(violation.map(\.description) ?? "all well")
            \(settings.validation == nil ? "without" : "with") validation, \(traits):
            \(code)
            \(told.story.text)
            """
    }
}

extension World {
    /// The device starts, with three networks, of which nothing is there yet.
    mutating func begin() throws(Violation) {
        try perform(Turn(delay: 0, change: .networks([0, 1, 2], preferred: 0)))
        try send(
            [.interface(isUp: true), .supplicant(isAvailable: true)] + (traits.hasSpare ? [.spare(isReady: true)] : []))
    }
}

extension PlausibleHistory {
    package static func random(seed: UInt64, length: Int) -> PlausibleHistory {
        var random = SeededRandom(seed: seed)
        var traits = World.Traits()
        traits.seed = random.next()
        traits.noise = random.element([0, 15, 30])
        traits.isSupervised = random.chance(1, in: 2)
        traits.fullScan = random.element([2000, 5000, 14_000])
        traits.hasSpare = random.chance(1, in: 2)
        let settings = PolicySettings.random(using: &random)
        var steps = (0..<length).map { _ in Turn.random(using: &random) }
        // In the end there is something to find.
        let found = Int.random(in: 0..<3, using: &random)
        steps += [
            .uplink(nil), .interfaceUp, .supplicant(isRunning: true),
            .networks(Array(0..<Neighbourhood.networkCount), preferred: random.chance(1, in: 2) ? 0 : nil),
            .level(found, -50), .fault(found, nil), .address(found, isGiven: true), .internet(found, .online),
            .power(found, isOn: true),
        ].map { Turn(delay: 0, change: $0) }
        return PlausibleHistory(steps: steps, settings: settings, traits: traits)
    }
}

extension Turn {
    fileprivate static func random(using random: inout SeededRandom) -> Turn {
        let delay =
            switch Int.random(in: 0..<16, using: &random) {
            case 0...3: Int.random(in: 0...1000, using: &random)
            case 4...11: Int.random(in: 1000...30_000, using: &random)
            case 12...14: Int.random(in: 30_000...300_000, using: &random)
            default: Int.random(in: 300_000...7_200_000, using: &random)
            }
        return Turn(delay: delay, change: .random(using: &random))
    }
}

extension Turn.Change {
    fileprivate static func random(using random: inout SeededRandom) -> Self {
        let index = Int.random(in: 0..<Neighbourhood.accessPointCount, using: &random)
        let network = Int.random(in: 0..<Neighbourhood.networkCount, using: &random)
        switch Int.random(in: 0..<64, using: &random) {
        case 0...15: return .power(index, isOn: random.chance(2, in: 3))
        case 16...27: return .level(index, Int.random(in: -97 ... -35, using: &random))
        case 28...35:
            let faults: [JoinFailure?] = [
                nil, nil, .wrongKey, .accessPointFull, .rejected, .timeout, .notFound, .linkLost,
            ]
            return .fault(index, random.element(faults))
        case 36...39: return .address(index, isGiven: random.chance(1, in: 2))
        case 40...46: return .internet(network, random.element(ProbeResult.allCases))
        case 47: return .interfaceDown(isStuck: random.chance(1, in: 2))
        case 48: return .interfaceUp
        case 49...50: return .supplicant(isRunning: random.chance(2, in: 3))
        case 51: return .uplink(random.chance(1, in: 3) ? .wired : nil)
        case 52...53:
            let indices = (0..<Neighbourhood.networkCount).filter { _ in random.chance(3, in: 4) }
            return .networks(indices, preferred: random.chance(1, in: 4) ? nil : indices.first)
        case 54...59:
            return .command(
                network, confirmWithin: random.chance(1, in: 3) ? 60 : nil, isConfirmed: random.chance(2, in: 3))
        case 60: return .restart
        case 61: return .suspend(Int.random(in: 1...36_000, using: &random))
        case 62: return .clockBack(Int.random(in: 1...3_600_000, using: &random))
        default: return .nothing
        }
    }
}
