import AgentModel
import Failover

public enum Simulation {
    /// Runs a scenario under altnet, with the agent's core.
    /// - Parameters:
    ///   - duration: duration of the run; nil for one pass of the scenario.
    ///   - recordsTimeline: whether to record the first pass.
    public static func run(
        _ scenario: Scenario, seed: UInt64, duration: Duration? = nil, recordsTimeline: Bool = false
    ) -> RunResult {
        run(World(scenario, seed: seed), duration: duration, recordsTimeline: recordsTimeline)
    }

    static func run(
        _ world: World, duration: Duration? = nil, recordsTimeline: Bool = false, burdens: BurdenTable? = nil
    ) -> RunResult {
        let stations = world.scenario.radio.stations
        return run(
            world, duration: duration, recordsTimeline: recordsTimeline, policyName: altnet, timing: StackTiming(),
            horizon: horizon, stations: stations, burdens: burdens
        ) { AgentRunner($0, stations: stations) }
    }

    /// Runs a scenario under a policy, with one station. Equal arguments give equal results.
    /// - Parameter makePolicy: creates the policy at the start and after each restart of the agent.
    public static func run<Policy: LinkPolicy>(
        _ scenario: Scenario, seed: UInt64, duration: Duration? = nil, recordsTimeline: Bool = false,
        policyName: String = "altnet", timing: StackTiming = StackTiming(),
        makePolicy: @escaping (PolicySettings) -> Policy
    ) -> RunResult {
        run(
            World(scenario, seed: seed), duration: duration, recordsTimeline: recordsTimeline, policyName: policyName,
            timing: timing, horizon: horizon, stations: 1
        ) { PolicyRunner($0, makePolicy: makePolicy) }
    }

    /// Runs one pass of a world under a model of another connection manager.
    static func run(_ world: World, peer: Peer, burdens: BurdenTable) -> RunResult {
        run(
            world, duration: nil, recordsTimeline: false, policyName: peer.name, timing: peer.timing, horizon: horizon,
            stations: 1, burdens: burdens
        ) { PolicyRunner($0) { _ in peer.makePolicy() } }
    }

    static let altnet = "altnet"
    static let horizon = Duration.seconds(600)

    /// - Parameter horizon: time for which the device computes events in advance. Does not affect the result.
    static func run<Runner: DeviceRunner>(
        _ world: World, duration: Duration?, recordsTimeline: Bool, policyName: String, timing: StackTiming,
        horizon: Duration, stations: Int, burdens: BurdenTable? = nil, makeRunner: (World) -> Runner
    ) -> RunResult {
        let scenario = world.scenario
        let end = max(0, (duration ?? scenario.duration).milliseconds)
        let result = RunResult(scenario: scenario.name, policy: policyName, seed: world.seed)
        var run = DeviceRun(
            device: SimulatedDevice(
                in: world, stations: stations, timing: timing, horizon: max(1, horizon.milliseconds),
                account: Account(result, world: world, isRecording: recordsTimeline, burdens: burdens)),
            runner: makeRunner(world))
        run.run(until: end)
        run.device.settle()
        return run.device.account.close(at: end)
    }
}

struct DeviceRun<Runner: DeviceRunner> {
    var device: SimulatedDevice
    var runner: Runner

    mutating func run(until end: Int64) {
        while true {
            handleReports()
            let wake = wake
            let next = min(device.nextMoment, wake)
            guard next < end else { break }
            device.advance(to: max(next, device.now))
            if wake <= device.now { device.report(.wake) }
        }
        device.now = max(device.now, end)
    }

    mutating func handleReports() {
        while let report = device.reports.popFirst() { runner.handle(report, of: &device) }
    }

    /// Time of the next event in milliseconds; `Int64.max` for never.
    var nextMoment: Int64 { min(device.nextMoment, wake) }

    private var wake: Int64 { device.isAgentAwake ? runner.nextWake(at: device.now) : .max }
}
