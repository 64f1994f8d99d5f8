import Agent
import AgentCore
import AgentModel
import AppProtocol
import AppServer
import Failover
import KeyFile
import Linux
import Simulation

/// A device to develop apps against: the agent's core with its key file and its apps, in a simulated world whose time
/// goes by the clock.
///
/// It does what `DeviceAgent` does with radio, sockets and files, with a `LiveDevice` in their place.
@AgentLoop
package final class DeveloperDevice {
    package struct Settings: Sendable {
        package var scenario: Scenario
        /// Whether what the scenario has happen happens by itself.
        package var hasStory = false
        /// Whether signals vary by themselves, and scans miss access points now and then.
        package var hasNoise = false
        /// Whether it knows none of the scenario's networks, as one that comes out of its box.
        package var isNew = false
        package var seed: UInt64 = 1
        /// How many times as fast as the clock its world goes.
        package var speed = 1

        package static let allowedSpeeds = 1...1000

        package init(_ scenario: Scenario) { self.scenario = scenario }
    }

    /// What it tells besides what apps hear.
    package enum Notice: Sendable {
        /// An event that apps are told.
        case event(Event.Body, Timestamp)
        /// A line of the agent's log.
        case log(LogLevel, String)
        /// The world was changed from outside.
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
    private var device: LiveDevice
    /// When its time was 0.
    private var beginning = Instant.now
    private var timer: LoopTimer?
    private var lastCommit: Task<Void, Never>?
    /// Requests that the core has not answered.
    private var unanswered: [RequestID: CheckedContinuation<Result<Response.Body, ProtocolError>, Never>] = [:]
    private var requests: UInt64 = 0
    private var isRunning = false

    /// - Parameter folder: has its identity and its key file, or gets them. A key file without networks gets those of
    ///   the scenario.
    package init(
        _ settings: Settings, in folder: String, hub: EventHub,
        notify: @escaping @AgentLoop (Notice) -> Void = { _ in }
    ) async throws {
        self.settings = settings
        self.hub = hub
        self.notify = notify
        let identity = try DeviceIdentity.load(from: folder)
        self.identity = identity
        // Its machine's clock is right, whether or not the kernel was told.
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
            var first = LiveDevice.firstState(of: settings.scenario, derive: PreSharedKey.derive)
            first.backups = Array(first.backups.prefix(maximum))
            state = try await store.update { [first] in $0 = first }
        }
        device = LiveDevice(
            settings.scenario, hasStory: settings.hasStory, hasNoise: settings.hasNoise, seed: settings.seed,
            state: state, maximumBackups: maximum, localKey: identity.localKey, beginning: .now)
    }

    /// As many as a device has unless it is told otherwise, or as many as the scenario has.
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

    /// The core ends, and what it has learnt is stored.
    package func stop() async {
        guard isRunning else { return }
        act { $0.stop() }
        isRunning = false
        timer = nil
        keyExpiry.stop()
        await lastCommit?.value
    }

    func keysHaveChanged() { keyExpiry.review() }

    /// What its time is by the clock, in milliseconds.
    private var moment: Int64 {
        max(0, (Instant.now - beginning).milliseconds).multipliedReportingOverflow(by: Int64(settings.speed))
            .partialValue
    }

    /// Does something to the device at this moment, and what comes of it.
    func act<Result, Failure>(
        _ body: (inout LiveDevice) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if isRunning { device.run(until: moment) }
        defer { attend() }
        return try body(&device)
    }

    private func attend() {
        let time = device.time
        for effect in device.takeEffects() { perform(effect, at: time) }
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
        case .say(let level, let text): notify(.log(level, text))
        default: break
        }
    }

    /// One change after the other, in the order in which the core has made them.
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

    /// Has the core answer an app.
    func answer(to request: AgentRequest) async throws(ProtocolError) -> Response.Body {
        requests += 1
        let id = RequestID(requests)
        return try await withCheckedContinuation { continuation in
            unanswered[id] = continuation
            act { $0.handle(.request(id, request)) }
        }.get()
    }

    // MARK: The world

    package var world: WorldState { act { $0.world } }

    /// Has something happen to the world now, in the words of scenarios.
    /// - Returns: the world after it.
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
