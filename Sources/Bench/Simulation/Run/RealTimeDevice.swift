import AgentCore
import AgentModel
import AppProtocol
import KeyFile

/// A simulated device under external control: the agent's core in a continuing world that can change at any time.
/// Effects for apps and key file are returned to the caller, and their results come back as events.
///
/// Has no clock: `run(until:)` advances its time.
package struct RealTimeDevice {
    private var run: DeviceRun<AgentRunner>
    /// Original scenario, to carry the device back to its positions and signals.
    private let scenario: Scenario

    /// Longest duration of a device's run without repetition: ten years at the highest speed.
    private static let life = Duration.seconds(10_000 * 366 * 86_400)

    /// - Parameters:
    ///   - hasStory: whether the scenario's events happen.
    ///   - hasNoise: whether signals vary as in the scenario and scans miss access points. Otherwise signals are exact
    ///     and scans complete.
    ///   - state: content of the key file. Use `firstState` for the scenario's networks.
    ///   - maximumBackups: maximum number of the device's backup networks.
    ///   - localKey: key for network hashes.
    ///   - beginning: wall-clock time at the start.
    package init(
        _ scenario: Scenario, hasStory: Bool, hasNoise: Bool, seed: UInt64, state: StoredState, maximumBackups: Int,
        localKey: Secret, beginning: Timestamp
    ) {
        self.scenario = scenario
        var place = scenario
        if !hasStory { place.happenings = [] }
        place.happenings.removeAll { !$0.change.isOfTheWorld }
        place.duration = Self.life
        if !hasNoise {
            for index in place.accessPoints.indices {
                (place.accessPoints[index].shadowing, place.accessPoints[index].fading) = (0, 0)
            }
        }
        let world = World(place, seed: seed)
        let stations = scenario.radio.stations
        var device = SimulatedDevice(
            in: world, stations: stations, timing: StackTiming(), horizon: Simulation.horizon.milliseconds,
            account: Account(
                RunResult(scenario: scenario.name, policy: Simulation.altnet, seed: seed), world: world,
                isRecording: false))
        if !hasNoise { device.sightChance = 1 }
        let runner = AgentRunner(
            world, stations: stations,
            environment: AgentRunner.Environment(
                key: localKey, state: state, maximumBackups: maximumBackups, beginning: beginning, isOutside: true))
        run = DeviceRun(device: device, runner: runner)
    }

    /// Returns the first key file content: the scenario's networks and their last frequencies.
    /// - Parameter derive: returns a network's key (IEEE 802.11-2020, annex J.4.1).
    package static func firstState(of scenario: Scenario, derive: (Secret, SSID) -> Secret) -> StoredState {
        StoredState(of: World(scenario, seed: 0), derive: derive)
    }

    // MARK: Time

    package var now: Int64 { run.device.now }
    package var time: Timestamp { run.runner.clock(run.device).time }
    /// Time of the next event in milliseconds; `Int64.max` for never.
    package var nextMoment: Int64 { run.nextMoment }

    /// Runs everything due up to and including this moment.
    package mutating func run(until moment: Int64) {
        guard moment >= now else { return }
        run.run(until: moment + 1)
        run.device.now = max(now, moment)
        run.handleReports()
    }

    // MARK: Apps and the key file

    package mutating func drainEffects() -> [Effect] {
        defer { run.runner.outgoing = [] }
        return run.runner.outgoing
    }

    package mutating func handle(_ event: AgentEvent) {
        run.runner.handle(event, &run.device)
        run.handleReports()
    }

    package mutating func committed(_ id: CommitID, _ state: StoredState) {
        run.runner.committed(id, state, &run.device)
        run.handleReports()
    }

    /// Stops the agent. The last changes to store are among the effects.
    package mutating func stop() { handle(.stop) }

    // MARK: What it knows

    package var core: AgentCore { run.runner.core }
    package var clock: ClockReading { run.runner.clock(run.device) }

    package mutating func status() -> NetworkStatus {
        run.runner.refreshKernelSnapshot(of: run.device)
        var status = core.status(at: clock)
        if let connectivity { status.connectivity = connectivity }
        if status.bssid != nil { status.signal = signal }
        return status
    }

    /// The agent's metrics, without those of its key file.
    package func metrics(version: String) -> MetricsReport {
        core.metrics(MetricsLedger.Facts(version: version), at: clock)
    }

    package mutating func scanResults() -> ScanResults {
        core.scanResults(run.device.scanResults(), at: clock.instant)
    }

    /// Connectivity of the device; nil if the scenario validates nothing.
    package var connectivity: Connectivity? { run.runner.connectivity(run.device) }

    /// Signal of the link in use, in dBm.
    package var signal: Int? { run.device.signal(of: run.device.inUse) }

    // MARK: The world

    var happenings: Int { run.device.world.happenings.count }

    package var world: WorldState { WorldState(run.device, scenario) }

    /// Changes the world now.
    /// - Throws: `WorldError` unless it is a change of the world with existing access points.
    package mutating func change(_ text: String) throws(WorldError) {
        let changes = try WorldChange(text).changes(in: run.device.world.scenario, from: scenario)
        guard changes.allSatisfy(\.isOfTheWorld) else {
            throw WorldError(
                .unsupported,
                "not a change of the world: an app commands the device, and it sleeps or restarts with its program"
            )
        }
        // Skipped samples belong to the old world.
        run.runner.catchUp(&run.device)
        let (world, coming) = run.device.world.changed(by: changes, at: now)
        run.device.meet(world, coming: coming)
        run.handleReports()
    }
}
