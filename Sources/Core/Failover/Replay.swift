import AgentModel

/// Runs the policy of this build on the events of a recorded run, and reports where it decides otherwise.
///
/// A recorded event answers what the recorded policy did. So everything after the first difference is hypothetical: the
/// world goes on as recorded, answers are matched to fitting orders, and events of a network that this policy is not in
/// are left out.
public struct Replay: Sendable {
    public private(set) var policy: FailoverPolicy
    /// Whether there was a difference, or the settings are not the run's.
    public private(set) var isHypothetical: Bool
    /// Whether the settings are not the run's. Then later recorded settings are ignored.
    private let hasOwnSettings: Bool
    private var orders = OrderMatch()

    /// The actions for one event, recorded and replayed.
    public struct Outcome: Sendable, Equatable {
        public let step: RecordedRun.Step
        /// This policy's actions.
        public let actions: [PolicyAction]
        public var isDifferent: Bool { step.actions != actions }
    }

    /// - Parameter settings: the run's settings, or others to see what they would change.
    public init(of run: RecordedRun, settings: PolicySettings) {
        policy = FailoverPolicy(settings: settings)
        hasOwnSettings = settings != run.settings
        isHypothetical = hasOwnSettings
    }

    /// If the recorded agent wakes the policy later than this, the recorded policy did not want to be woken.
    private static let lateness = Duration.milliseconds(500)
    /// Limit of wake-ups before an event: a broken policy must not hang the replay.
    private static let wakeLimit = 10_000

    public mutating func handle(_ step: RecordedRun.Step) -> Outcome {
        var actions: [PolicyAction] = []
        if isHypothetical {
            for _ in 0..<Self.wakeLimit {
                guard let wake = policy.nextWake, wake + Self.lateness < step.at else { break }
                actions += perform(.tick, at: wake)
            }
        }
        if case .settings = step.event, hasOwnSettings { return Outcome(step: step, actions: actions) }
        if let event = isHypothetical ? orders.matching(step.event, policy.phase.network) : step.event {
            actions += perform(event, at: step.at)
        }
        let outcome = Outcome(step: step, actions: actions)
        isHypothetical = isHypothetical || outcome.isDifferent
        orders.recorded(step)
        return outcome
    }

    private mutating func perform(_ event: PolicyEvent, at now: Instant) -> [PolicyAction] {
        let actions = policy.handle(event, at: now)
        for action in actions { orders.given(action) }
        return actions
    }
}

/// Matches recorded answers with this policy's orders.
private struct OrderMatch: Sendable {
    /// The recorded policy's joins. An answer may belong to one that was replaced since.
    private var joins: [(epoch: UInt64, network: NetworkID)] = []
    private var recordedNetwork: NetworkID?
    private var join: (epoch: UInt64, network: NetworkID)?
    private var scan: UInt64?

    private static let capacity = 8

    /// Notes what the recorded policy did.
    mutating func recorded(_ step: RecordedRun.Step) {
        if case .linkFound(let network, _) = step.event { recordedNetwork = network }
        for action in step.actions {
            switch action {
            case .join(let target), .joinBeside(let target):
                joins = joins.suffix(Self.capacity - 1) + [(target.epoch, target.network)]
                recordedNetwork = target.network
            default: break
            }
        }
    }

    /// Notes what this policy did.
    mutating func given(_ action: PolicyAction) {
        switch action {
        case .join(let target): join = (target.epoch, target.network)
        case .scan(let order): scan = order.id
        case .cancelScan: scan = nil
        default: break
        }
    }

    /// - Returns: the event as this policy would receive it, or nil if it would not.
    mutating func matching(_ event: PolicyEvent, _ network: NetworkID?) -> PolicyEvent? {
        switch event {
        case .associated(let epoch, let accessPoint):
            return own(epoch).map { .associated(epoch: $0, accessPoint) }
        case .joinFailed(let epoch, let failure): return own(epoch).map { .joinFailed(epoch: $0, failure) }
        case .probed(let epoch, let result): return own(epoch).map { .probed(epoch: $0, result) }
        case .doubted(let epoch): return own(epoch).map { .doubted(epoch: $0) }
        case .signingIn(let epoch, let end): return own(epoch).map { .signingIn(epoch: $0, until: end) }
        case .postponed(let epoch, let moment): return own(epoch).map { .postponed(epoch: $0, until: moment) }
        case .scanned(_, let results):
            defer { scan = nil }
            return .scanned(id: scan, results)
        case .scanFailed:
            defer { scan = nil }
            return scan.map { .scanFailed(id: $0) }
        case .signal, .loss, .address, .linkLost: return network == recordedNetwork ? event : nil
        default: return event
        }
    }

    private func own(_ epoch: UInt64) -> UInt64? {
        guard let recorded = joins.last(where: { $0.epoch == epoch }), let join, join.network == recorded.network
        else { return nil }
        return join.epoch
    }
}
