import AgentModel
import Failover
import Randomness

/// A long life among thousands of access points, networks that come and go, and commands.
package struct Strangers {
    /// The most elements that the policy held, in the first tenth of the events and in all of them.
    package private(set) var early = 0
    package private(set) var ever = 0

    package init(seed: UInt64, events: Int) throws(Violation) {
        var random = SeededRandom(seed: seed)
        var policy = FailoverPolicy(settings: .random(using: &random))
        var orders = Orders()
        var now = Instant(milliseconds: 1_000_000)
        var generation = 0
        for event in [PolicyEvent.interface(isUp: true), .supplicant(isAvailable: true)] {
            _ = policy.handle(event, at: now)
        }
        for count in 0..<events {
            now = now + .milliseconds(Int.random(in: 0...3000, using: &random))
            if random.chance(1, in: 50) { generation += 1 }
            let stimulus = Self.stimulus(generation, after: policy, using: &random)
            orders.record(policy.handle(orders.event(stimulus, at: now), at: now))
            guard count.isMultiple(of: 97) else { continue }
            ever = max(ever, policy.elementCount)
            if count < events / 10 { early = max(early, ever) }
            if ever > Bounds.elements {
                throw Violation(.boundedMemory, "\(ever) elements after \(count) events", at: now)
            }
        }
    }

    private static func stimulus(
        _ generation: Int, after policy: FailoverPolicy, using random: inout SeededRandom
    ) -> Stimulus {
        switch Int.random(in: 0..<16, using: &random) {
        case 0:
            let indices = (0..<Neighbourhood.networkCount).filter { _ in random.chance(5, in: 6) }
            return .networks(indices, preferred: indices.first, generation: generation)
        case 1:
            return .remembered(
                random.element([0, 1, 2]), Frequency(megahertz: Int.random(in: 2400...7000, using: &random)))
        case 2: return .switchTo(random.element([0, 1, 2, 3]), confirmWithin: nil)
        case 3...8:
            let observations = (0..<20).map { _ in
                Stimulus.Observation(
                    accessPoint: Int.random(in: 0..<100_000, using: &random),
                    signal: Int.random(in: -90 ... -40, using: &random))
            }
            return .scanned(random.chance(1, in: 4) ? .anotherProgram : .latest, observations)
        default:
            let stimulus = Stimulus.random(after: policy, using: &random)
            return stimulus == .stop ? .tick : stimulus
        }
    }
}
