import Agent
import AgentCore
import AgentModel
import AppProtocol
import AppServer
import KeyFile
import Linux
import Simulation

/// Device for app development: the agent's core with a key file and apps, in a simulated world in real time. It
/// replaces `DeviceAgent`, and a `RealTimeDevice` replaces radio, sockets and files.
@AgentLoop
package final class DeveloperDevice {
    package struct Settings: Sendable {
        package var scenario: Scenario
        /// Whether the scenario's events happen automatically.
        package var hasStory = false
        /// Whether signals vary and scans sometimes miss access points.
        package var hasNoise = false
        /// Whether the device starts without networks, as from the factory.
        package var isNew = false
        package var seed: UInt64 = 1
        /// Speed of the world's time relative to the clock, in the range of ``allowedSpeeds``.
        package var speed = 1

        package static let allowedSpeeds = 1...1000

        package init(_ scenario: Scenario) { self.scenario = scenario }
    }

    package enum Notice: Sendable {
        /// An event that the device sends to apps.
        case event(Event.Body, Timestamp)
        case log(LogLevel, String)
        case world(String, Timestamp)
    }

    nonisolated let identity: DeviceIdentity
    nonisolated let seals: SealOpener
    nonisolated let keys: KeyRing
    private let keyExpiry: KeyExpiry
    nonisolated let maximumBackups: Int
    private let settings: Settings
    private let store: Store
    private let hub: EventHub
    private let notify: @AgentLoop (Notice) -> Void
    private var device: RealTimeDevice
    /// Time 0 of the world, on the host's clock.
    private var beginning = Instant.now
    private var timer: LoopTimer?
    private var lastCommit: Task<Void, Never>?
    /// Requests that the core has not answered yet, by ID.
    private var unanswered: [RequestID: CheckedContinuation<Result<Response.Body, ProtocolError>, Never>] = [:]
    private var requests: UInt64 = 0
    private var isRunning = false

    /// - Parameter folder: folder of the identity and the key file. Missing files are created. If the key file has no
    ///   networks, the scenario's networks are stored in it.
    package init(
        _ settings: Settings, in folder: String, hub: EventHub, notify: @escaping @AgentLoop (Notice) -> Void
    ) async throws {
        self.settings = settings
        self.hub = hub
        self.notify = notify
        let identity = try DeviceIdentity.load(from: folder)
        self.identity = identity
        // Trust the host's clock, even if the kernel does not report that it is synchronised.
        keys = KeyRing(identity, in: folder, time: { .now }) { text in Task { @AgentLoop in notify(.log(.error, text)) }
        }
        keyExpiry = KeyExpiry(keys) { level, text in notify(.log(level, text)) }
        seals = SealOpener(identity, keys: keys)
        let maximum = Self.maximumBackups(of: settings.scenario)
        maximumBackups = maximum
        store = try Store(
            StorePlace(path: folder + "/networks", rootKey: .file(path: folder + "/root-key")), maximumBackups: maximum)
        var state = await store.state
        if state.namedNetworks.isEmpty, !settings.isNew {
            var first = RealTimeDevice.firstState(of: settings.scenario, derive: PreSharedKey.derive)
            first.backups = Array(first.backups.prefix(maximum))
            state = try await store.update { [first] in $0 = first }
        }
        device = RealTimeDevice(
            settings.scenario, hasStory: settings.hasStory, hasNoise: settings.hasNoise, seed: settings.seed,
            state: state, maximumBackups: maximum, localKey: identity.localKey, beginning: .now)
    }

    private static func maximumBackups(of scenario: Scenario) -> Int {
        min(KeyFile.allowedMaximum.upperBound, max(3, scenario.networks.count))
    }

    // MARK: Time

    package func begin() {
        isRunning = true
        beginning = .now
        keyExpiry.review()
        act { _ in }
    }

    /// Stops the core and waits until its statistics are stored.
    package func stop() async {
        guard isRunning else { return }
        act { $0.stop() }
        isRunning = false
        timer = nil
        keyExpiry.stop()
        await lastCommit?.value
    }

    func keysHaveChanged() { keyExpiry.review() }

    /// Time of the world in milliseconds since its start.
    private var moment: Int64 {
        max(0, (Instant.now - beginning).milliseconds).multipliedReportingOverflow(by: Int64(settings.speed))
            .partialValue
    }

    /// Runs the world up to now, calls `body`, and performs the resulting effects.
    func act<Result, Failure>(
        _ body: (inout RealTimeDevice) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if isRunning { device.run(until: moment) }
        defer { attend() }
        return try body(&device)
    }

    private func attend() {
        let time = device.time
        for effect in device.drainEffects() { perform(effect, at: time) }
        guard isRunning else { return }
        let next = device.nextMoment
        timer =
            next == .max
            ? nil
            : LoopTimer(after: .milliseconds((max(0, next - device.now) + speed - 1) / speed)) { [weak self] in
                self?.act { _ in }
            }
    }

    private var speed: Int64 { Int64(settings.speed) }

    private func perform(_ effect: Effect, at time: Timestamp) {
        switch effect {
        case .answer(let id, let result): unanswered.removeValue(forKey: id)?.resume(returning: result)
        case .publish(let event):
            hub.publish(event, at: time)
            notify(.event(event, time))
        case .commit(let id, let change): commit(id, change)
        case .log(let level, let text): notify(.log(level, text))
        default: break
        }
    }

    /// Stores a change after all earlier ones, so that the core's order is kept.
    private func commit(_ id: CommitID, _ change: StateChange) {
        lastCommit = Task { [lastCommit] in
            await lastCommit?.value
            do throws(ProtocolError) {
                let state = try await store.update { state throws(ProtocolError) in try change.apply(to: &state) }
                act { $0.committed(id, state) }
            } catch {
                act { $0.handle(.refusedCommit(id, error)) }
            }
        }
    }

    func answer(to request: AgentRequest) async throws(ProtocolError) -> Response.Body {
        requests += 1
        let id = RequestID(requests)
        return try await withCheckedContinuation { continuation in
            unanswered[id] = continuation
            act { $0.handle(.request(id, request)) }
        }.get()
    }

    // MARK: World

    package var world: WorldState { act { $0.world } }

    /// Applies a change to the world now. The text has the syntax of scenarios.
    @discardableResult
    package func change(_ text: String) throws(WorldError) -> WorldState {
        let world = try act { (device) throws(WorldError) in
            try device.change(text)
            return device.world
        }
        notify(.world(text, device.time))
        return world
    }

    package func answer(to line: some Collection<UInt8>) -> WorldAnswer {
        do throws(WorldError) {
            guard let change = try WorldRequest(reading: line).change else { return .world(world) }
            return .world(try self.change(change))
        } catch {
            return .error(error)
        }
    }
}
