import AgentModel
import FailoverPolicy

/// Runs scenarios.
public enum Simulation {
    /// Runs a scenario under altnet's policy.
    ///
    /// - Parameters:
    ///   - duration: nil for one pass of the scenario.
    ///   - recordsTimeline: whether the result shows the first pass.
    public static func run(
        _ scenario: Scenario, seed: UInt64, duration: Duration? = nil, recordsTimeline: Bool = false
    ) -> RunResult {
        run(scenario, seed: seed, duration: duration, recordsTimeline: recordsTimeline) { FailoverPolicy(settings: $0) }
    }

    /// Runs a scenario under any policy. The same arguments give the same result.
    ///
    /// - Parameter makePolicy: called at the beginning, and whenever the agent is restarted.
    public static func run<Policy: LinkPolicy>(
        _ scenario: Scenario, seed: UInt64, duration: Duration? = nil, recordsTimeline: Bool = false,
        policyName: String = "altnet", timing: StackTiming = StackTiming(),
        makePolicy: (PolicySettings) -> Policy
    ) -> RunResult {
        run(
            World(scenario, seed: seed), duration: duration, recordsTimeline: recordsTimeline, policyName: policyName,
            timing: timing, horizon: .seconds(600), makePolicy: makePolicy)
    }

    /// - Parameter horizon: how far ahead the air is searched at once; it makes no difference to the result.
    static func run<Policy: LinkPolicy>(
        _ world: World, duration: Duration?, recordsTimeline: Bool, policyName: String, timing: StackTiming,
        horizon: Duration, makePolicy: (PolicySettings) -> Policy
    ) -> RunResult {
        let scenario = world.scenario
        let end = max(0, (duration ?? scenario.duration).milliseconds)
        let result = RunResult(scenario: scenario.name, policy: policyName, seed: world.seed)
        var device = SimulatedDevice(
            in: world, timing: timing, horizon: max(1, horizon.milliseconds),
            account: Account(result, world: world, isRecording: recordsTimeline))
        var agent = Runner(policy: makePolicy(scenario.settings))
        while true {
            while let report = device.reports.popFirst() {
                switch report {
                case .event(let event): agent.hand(event, of: &device)
                case .restart: agent = Runner(policy: makePolicy(scenario.settings))
                }
            }
            let wake = device.isAgentAwake ? agent.wake?.milliseconds ?? .max : .max
            let next = min(device.nextMoment, wake)
            guard next < end else { break }
            device.advance(to: max(next, device.now))
            if wake <= device.now { device.tell(.tick) }
        }
        device.now = end
        device.settle()
        return device.account.close(at: end)
    }

    /// A policy and when to wake it, as the agent does it.
    private struct Runner<Policy: LinkPolicy> {
        private var policy: Policy
        private var wakeGuard = WakeGuard()
        private(set) var wake: Instant?

        init(policy: Policy) {
            self.policy = policy
            wake = policy.nextWake
        }

        mutating func hand(_ event: PolicyEvent, of device: inout SimulatedDevice) {
            let now = Instant(milliseconds: device.now)
            device.account.result.events += 1
            for action in policy.handle(event, at: now) { device.perform(action) }
            wake = wakeGuard.moment(for: policy.nextWake, at: now, isWoken: event == .tick)
        }
    }
}
