import AgentModel
import Failover

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
        var policy = makePolicy(scenario.settings)
        var earliestTick: Int64 = 0
        while true {
            while let report = device.reports.popFirst() {
                switch report {
                case .event(let event): hand(event, to: &policy, of: &device)
                case .restart: policy = makePolicy(scenario.settings)
                }
            }
            // A policy that asks to be woken in the past gets its tick a millisecond later, so that time goes on.
            let wake = device.isAgentAwake ? policy.nextWake.map { max($0.milliseconds, earliestTick) } ?? .max : .max
            let next = min(device.nextMoment, wake)
            guard next < end else { break }
            device.advance(to: max(next, device.now))
            if wake <= device.now {
                earliestTick = device.now + 1
                device.tell(.tick)
            }
        }
        device.now = end
        device.settle()
        return device.account.close(at: end)
    }

    private static func hand<Policy: LinkPolicy>(
        _ event: PolicyEvent, to policy: inout Policy, of device: inout SimulatedDevice
    ) {
        device.account.result.events += 1
        for action in policy.handle(event, at: Instant(milliseconds: device.now)) { device.perform(action) }
    }
}

/// What decides in a simulation: altnet's policy, or a model of another connection manager's.
public protocol LinkPolicy {
    mutating func handle(_ event: PolicyEvent, at now: Instant) -> [PolicyAction]
    /// When it wants to be sent `.tick`, at the latest.
    var nextWake: Instant? { get }
}

extension FailoverPolicy: LinkPolicy {}
