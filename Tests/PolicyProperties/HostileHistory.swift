import AgentModel
import Failover

/// A history in which anything may happen at any moment, and at once, and the clock may jump.
package struct HostileHistory: Shrinkable, Sendable {
    package var steps: [Step]
    package let settings: PolicySettings

    package init(steps: [Step], settings: PolicySettings) {
        self.steps = steps
        self.settings = settings
    }

    package func violation() -> Violation? {
        var run = HostileRun(settings: settings)
        do {
            for step in steps { try run.perform(step) }
            try run.finish()
            return nil
        } catch {
            return error
        }
    }
}

/// A policy in the middle of a hostile history.
struct HostileRun {
    var watched: WatchedPolicy
    private var orders = Orders()
    private(set) var now = Self.start
    /// Time until the device was online in the calm that follows.
    private(set) var longestOffline = Duration.zero

    private static let longestWait = 64
    private static let start = Instant(milliseconds: 1_000_000)

    init(settings: PolicySettings) { watched = WatchedPolicy(settings: settings, at: Self.start) }

    mutating func perform(_ step: Step) throws(Violation) {
        let moment = now + .milliseconds(step.delay)
        if step.isPunctual { try sleep(until: moment) }
        now = moment
        let events = step.stimuli.map { orders.event($0, at: moment) }
        guard !events.isEmpty else { return }
        if events.count > 1 { try checkOrder(of: events) }
        try send(events)
    }

    /// Every switch ends once time passes, and the device gets online where it can.
    mutating func finish() throws(Violation) {
        // If the clock went back, the policy's own has yet to go on.
        now = max(now, watched.now)
        for _ in 0..<120 where watched.isSwitching { try sleep(until: now + .seconds(10)) }
        // Nothing will come of one that waits for nothing.
        if watched.isSwitching { throw Violation(.oneOutcome, "a switch has no outcome after 20 min", at: now) }
        guard !watched.isStopped else { return }
        var world = World(after: watched, at: now)
        longestOffline = try world.getOnline()
    }

    private mutating func sleep(until moment: Instant) throws(Violation) {
        var ticks = 0
        let start = now
        while let wake = watched.nextWake, wake <= moment {
            now = max(now, wake)
            try send([.tick])
            ticks += 1
            // A day without any answer is over when the policy has settled.
            if ticks >= Self.longestWait { break }
        }
        if ticks >= Self.longestWait, now - start < Bounds.shortestWait {
            throw Violation(.noHotLoop, "\(ticks) wake-ups without an event since \(start.inSeconds)", at: now)
        }
        now = max(now, moment)
    }

    private mutating func send(_ events: [PolicyEvent]) throws(Violation) {
        let actions = try watched.handle(events, at: now)
        orders.record(actions)
    }

    /// Events of one moment come from different sources, and which is read first is chance.
    private func checkOrder(of events: [PolicyEvent]) throws(Violation) {
        let expected = Outcome(of: events, on: watched.policy, at: now)
        for other in Self.permutations(of: events) {
            let actual = Outcome(of: other, on: watched.policy, at: now)
            guard actual != expected else { continue }
            throw Violation(
                .orderIndependent,
                """
                \(events)
                gives \(expected.actions)
                but \(other)
                gives \(actual.actions)
                """, at: now)
        }
    }

    /// The effect of some events, and their remains as far as they show later.
    private struct Outcome: Equatable {
        let actions: [PolicyAction]
        let phase: FailoverPolicy.Phase
        var later: [PolicyAction] = []

        init(of events: [PolicyEvent], on policy: FailoverPolicy, at now: Instant) {
            var policy = policy
            actions = policy.handle(events, at: now)
            phase = policy.phase
            for _ in 0..<3 {
                guard let wake = policy.nextWake else { break }
                later += policy.handle(.tick, at: wake)
            }
        }
    }

    /// Backwards, and with each event at another place.
    private static func permutations(of events: [PolicyEvent]) -> [[PolicyEvent]] {
        let rotated = Array(events.dropFirst() + events.prefix(1))
        return [Array(events.reversed())] + (events.count > 2 ? [rotated, rotated.reversed()] : [])
    }
}
