import AgentCore
import AgentModel
import AppProtocol
import KeyFile

/// A simulated device under external control: the agent's core in a continuing world that can change at any time.
/// Effects for apps and key file are returned to the caller, and their results come back as events.
///
/// The device has no clock: `run(until:)` advances its time.
package struct RealTimeDevice {
    private var run: DeviceRun<AgentRunner>
    /// Original scenario. The change `back` restores its positions and signals.
    private let scenario: Scenario

    /// Longest run of a device: 10,000 years, which take ten years at the highest speed of 1000.
    private static let life = Duration.seconds(10_000 * 366 * 86_400)

    /// - Parameters:
    ///   - hasStory: whether the scenario's events happen.
    ///   - hasNoise: whether signals vary as in the scenario and scans can miss access points. If false, signals are
    ///     exact and scans complete.
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

    /// Returns the first content of the key file: the scenario's networks and their last frequencies.
    /// - Parameter derive: derives a network's key from password and SSID (IEEE 802.11-2020, annex J.4.1).
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

    /// Stops the agent. Afterwards, `drainEffects()` also returns the last changes to store.
    package mutating func stop() { handle(.stop) }

    // MARK: State

    package var core: AgentCore { run.runner.core }
    package var clock: ClockReading { run.runner.clock(run.device) }

    package mutating func status() -> NetworkStatus {
        run.runner.refreshKernelSnapshot(of: run.device)
        var status = core.status(at: clock)
        if let connectivity { status.connectivity = connectivity }
        if status.bssid != nil { status.signal = signal }
        return status
    }

    /// Returns the agent's metrics, without the key file's.
    package func metrics(version: String) -> MetricsReport {
        core.metrics(MetricsLedger.Facts(version: version), at: clock)
    }

    package mutating func scanResults() -> ScanResults {
        core.scanResults(run.device.scanResults(), at: clock.instant)
    }

    /// Connectivity of the device; nil if the scenario's settings have no validation.
    package var connectivity: Connectivity? { run.runner.connectivity(run.device) }

    /// Signal of the link in use, in dBm; nil without a link.
    package var signal: Int? { run.device.signal(of: run.device.inUse) }

    // MARK: The world

    var happenings: Int { run.device.world.happenings.count }

    package var world: WorldState { WorldState(run.device, scenario) }

    /// Changes the world now.
    /// - Throws: `WorldError` if the text is not a change of the world, or names an unknown access point.
    package mutating func change(_ text: String) throws(WorldError) {
        let changes = try WorldChange(text).changes(in: run.device.world.scenario, from: scenario)
        guard changes.allSatisfy(\.isOfTheWorld) else {
            throw WorldError(
                .unsupported,
                "not a change of the world: send passwords and commands from an app, and suspend or restart the program"
            )
        }
        // The skipped samples belong to the old world.
        run.runner.catchUp(&run.device)
        let (world, coming) = run.device.world.changed(by: changes, at: now)
        run.device.meet(world, coming: coming)
        run.handleReports()
    }
}
