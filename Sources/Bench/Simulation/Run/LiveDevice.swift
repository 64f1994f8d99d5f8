import AgentCore
import AgentModel
import AppProtocol
import Failover
import KeyFile

/// A simulated device that is run from outside: the agent's core in a world that goes on and can be changed at any
/// moment. Its apps and its key file are not simulated: what the core wants of them is handed out, in its order, and
/// their answers are handed in.
///
/// It has no clock: `run(until:)` moves its time.
package struct LiveDevice {
    private var run: DeviceRun<AgentRunner>
    /// As the scenario has them: where the device is carried back to.
    private let scenario: Scenario

    /// The longest life of a device, in which nothing is repeated: ten years at the highest speed.
    private static let life = Duration.seconds(10_000 * 366 * 86_400)

    /// - Parameters:
    ///   - hasStory: whether happens what the scenario has happen; else there are only its places and networks.
    ///   - hasNoise: whether signals vary as the scenario says, and scans miss access points now and then; else each
    ///     signal is what it was set to, and every scan shows what is there.
    ///   - state: what the key file has; one without networks is filled with those of the scenario by `firstState`.
    ///   - maximumBackups: of the device's list.
    ///   - localKey: names networks in hashes.
    ///   - beginning: the time of day when its time is 0.
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
            place: AgentRunner.Place(
                key: localKey, state: state, maximumBackups: maximumBackups, beginning: beginning, isOutside: true))
        run = DeviceRun(device: device, runner: runner)
    }

    /// What the key file of a device in the scenario has: its networks, and where they were.
    /// - Parameter derive: a network's key (IEEE 802.11-2020, annex J.4.1).
    package static func firstState(of scenario: Scenario, derive: (Secret, SSID) -> Secret) -> StoredState {
        StoredState(of: World(scenario, seed: 0), derive: derive)
    }

    // MARK: Time

    /// Since it began, in milliseconds.
    package var now: Int64 { run.device.now }
    /// Of its day.
    package var time: Timestamp { run.runner.clock(run.device).time }
    /// When something happens next; never is `Int64.max`.
    package var nextMoment: Int64 { run.nextMoment }

    /// Does what is due up to this moment, included.
    package mutating func run(until moment: Int64) {
        guard moment >= now else { return }
        run.run(until: moment + 1)
        run.device.now = max(now, moment)
        run.takeReports()
    }

    // MARK: Apps and the key file

    /// What the core wanted of them since this was asked last: answers, events, changes to store, lines of the log.
    package mutating func takeEffects() -> [Effect] {
        defer { run.runner.outgoing = [] }
        return run.runner.outgoing
    }

    package mutating func handle(_ event: AgentEvent) {
        run.runner.handle(event, &run.device)
        run.takeReports()
    }

    /// The key file has stored a change.
    package mutating func committed(_ id: CommitID, _ state: StoredState) {
        run.runner.committed(id, state, &run.device)
        run.takeReports()
    }

    /// The agent ends, and the core says what is still to be stored.
    package mutating func stop() { handle(.stop) }

    // MARK: What it knows

    package var core: AgentCore { run.runner.core }
    package var clock: ClockReading { run.runner.clock(run.device) }

    /// The status with the signal measured now.
    package mutating func status() -> NetworkStatus {
        run.runner.lookAround(run.device)
        var status = core.status(at: clock)
        if let connectivity { status.connectivity = connectivity }
        if status.bssid != nil { status.signal = signal }
        return status
    }

    /// What the agent counts. Its key file is not here.
    package func metrics(version: String) -> MetricsReport {
        core.metrics(MetricsLedger.Facts(version: version), at: clock)
    }

    package mutating func scanResults() -> ScanResults {
        core.scanResults(run.device.scanResults(), at: clock.instant)
    }

    /// Nil where the scenario validates nothing.
    package var connectivity: Connectivity? { run.runner.connectivity(run.device) }

    /// Of the link in use, in dBm.
    package var signal: Int? { run.device.signal(of: run.device.inUse) }

    // MARK: The world

    /// How many changes of the world are remembered.
    var happenings: Int { run.device.world.happenings.count }

    package var world: WorldState { WorldState(run.device, scenario) }

    /// Has this happen now.
    /// - Throws: where it is no change of the world, or there is no such access point.
    package mutating func change(_ text: String) throws(WorldError) {
        let changes = try WorldChange(text).changes(in: run.device.world.scenario, from: scenario)
        guard changes.allSatisfy(\.isOfTheWorld) else {
            throw WorldError(
                .unsupported,
                "this is no change of the world: apps command and tell the device, and it sleeps or restarts with the program"
            )
        }
        // Samples that were left out are of the world before.
        run.runner.catchUp(&run.device)
        let (world, coming) = run.device.world.changed(by: changes, at: now)
        run.device.meet(world, coming: coming)
        run.takeReports()
    }
}
