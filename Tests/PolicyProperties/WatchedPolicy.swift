import AgentModel
import Failover

/// A policy that is watched: its runner talks to this, and hears of the first property that does not hold.
package struct WatchedPolicy {
    package private(set) var policy: FailoverPolicy
    /// The policy's time, which never goes backwards.
    private(set) var now: Instant
    private(set) var isStopped = false
    /// The network that is visited.
    private var visited: NetworkID?
    private var switches = SwitchWatch()
    private var links: LinkWatch
    private var scans: ScanWatch
    /// The situations that it has been through.
    private(set) var situations: Set<Situation> = []
    /// Is told of every exchange, before it is judged.
    var trace: ((Instant, [PolicyEvent], [PolicyAction]) -> Void)?

    package init(settings: PolicySettings, at start: Instant) {
        policy = FailoverPolicy(settings: settings)
        now = start
        links = LinkWatch(settings: settings)
        scans = ScanWatch(settings: settings)
    }

    package var nextWake: Instant? { policy.nextWake }

    /// Whether a commanded switch has no outcome yet.
    package var isSwitching: Bool { switches.isOpen }

    /// The time from a command to its outcome that was longest, without the time that the app may take to confirm.
    package var longestSwitch: Duration { switches.longest }

    /// Takes in what happened at one moment.
    /// - Parameter moment: may lie before an earlier one: the policy's time stands still then.
    package mutating func handle(_ events: [PolicyEvent], at moment: Instant) throws(Violation) -> [PolicyAction] {
        let previous = now
        now = max(now, moment)
        // Time that the policy overslept is not its fault.
        let awake = min(now, max(previous, policy.nextWake ?? now)) - previous
        let (before, successorBefore) = (policy.phase, policy.successor)
        let actions = events.count == 1 ? policy.handle(events[0], at: moment) : policy.handle(events, at: moment)
        trace?(now, events, actions)
        let isLate = now - previous > awake
        let exchange = Exchange(
            at: now, awake: awake, isLate: isLate, events: events, actions: actions, before: before,
            successorBefore: successorBefore, policy: policy)
        situations.formUnion(exchange.situations)

        try checkSilence(exchange)
        try checkVisit(exchange)
        try switches.check(exchange)
        try links.check(exchange)
        try scans.check(exchange)
        if let wake = policy.nextWake, wake <= now {
            throw Violation(.noHotLoop, "after \(events) it wants to be woken at \(wake.inSeconds)", at: now)
        }
        return actions
    }

    private mutating func checkVisit(_ exchange: Exchange) throws(Violation) {
        guard policy.isOnEphemeralNetwork else { return visited = nil }
        // From one visit to the next there is nothing in between, where the next link is made before.
        if exchange.actions.contains(where: { if case .useSuccessor = $0 { true } else { false } }) { visited = nil }
        let network = policy.phase.network
        if let visited, visited != network {
            throw Violation(.visitsEndWithTheLink, "still visits \(visited), in \(network?.rawValue ?? 0)", at: now)
        }
        visited = network
        if network == nil { throw Violation(.visitsEndWithTheLink, "visits while offline", at: now) }
    }

    private mutating func checkSilence(_ exchange: Exchange) throws(Violation) {
        if isStopped, !exchange.actions.isEmpty {
            throw Violation(.silentAfterStop, "wants \(exchange.actions)", at: now)
        }
        if exchange.events.contains(.stop) { isStopped = true }
        if isStopped, let wake = policy.nextWake {
            throw Violation(.silentAfterStop, "wants to be woken at \(wake.inSeconds)", at: now)
        }
    }
}

/// One call of the policy, and what came of it.
struct Exchange {
    /// The policy's time, which never goes backwards.
    let at: Instant
    /// How much of the time since the last call the policy was not late for what it had asked to be woken for.
    let awake: Duration
    let isLate: Bool
    let events: [PolicyEvent]
    let actions: [PolicyAction]
    let before: FailoverPolicy.Phase
    let successorBefore: FailoverPolicy.Phase?
    let policy: FailoverPolicy
}

extension Exchange {
    /// Whether the policy may go by other settings from now on.
    var changesSettings: Bool { events.contains { if case .settings = $0 { true } else { false } } }
}
