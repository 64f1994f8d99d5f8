import Agent
import AgentCore
import AgentModel
import AppProtocol
import KeyFile
import MQTTBridge
import Simulation

/// One device of a fleet: the agent's core in a simulated world, and a bridge to a broker. Core and bridge exchange the
/// lines of the agent's socket directly.
///
/// A device has no clock and no connection: the caller passes time and events in, and performs the effects. It is a
/// class because copies of a fleet's devices would take most of the time.
final class FleetDevice {
    let id: String
    /// Version of the device's program.
    let version: String
    private var device: RealTimeDevice
    private var bridge: Bridge
    private var disk: StoredState
    private let seals: SealOpener
    private let maximumBackups: Int
    /// Time 0 of the device's world, on the fleet's clock.
    private let beginning: Instant

    private var isSubscribed = false
    private var eventCount = 0
    /// Answers in the order of their requests, as the agent sends them. `line` is nil until the answer arrives.
    private var answers: [(id: String, line: [UInt8]?)] = []
    /// Unanswered requests: ID in the app protocol, by the core's ID.
    private var unanswered: [RequestID: String] = [:]
    private var requests: UInt64 = 0
    private var orders: [Bridge.Effect] = []

    /// - Parameter state: content of the device's key file.
    init(
        id: String, version: String = Version.current, _ scenario: Scenario, state: StoredState, localKey: Secret,
        _ settings: BridgeSettings, seed: UInt64, at now: Instant, _ time: Timestamp
    ) throws {
        (self.id, self.version) = (id, version)
        maximumBackups = max(3, scenario.networks.count)
        device = RealTimeDevice(
            scenario, hasStory: false, hasNoise: false, seed: seed, state: state, maximumBackups: maximumBackups,
            localKey: localKey, beginning: time)
        bridge = Bridge(settings, seed: seed)
        disk = state
        seals = SealOpener(try DeviceKey(deviceId: id, localKey: localKey))
        beginning = now
    }

    // MARK: State

    var isConnected: Bool { bridge.isConnected }
    var lostMessages: Int { bridge.lostMessages }
    /// Whether the device's current network forwards traffic.
    private(set) var isOnNetwork = false

    /// Whether `altnet wait-online` would succeed.
    var isOnline: Bool { device.status().isConnected }

    /// Returns the phase of a staged password; nil if the device does not know the change.
    func phase(of changeId: String) -> StagedPassword.Phase? { disk.staged.first { $0.id == changeId }?.phase }
    var state: StoredState { disk }

    /// Time at which the next tick is due, on the fleet's clock.
    var due: Instant {
        let next = device.nextMoment
        let world = next == .max ? nil : beginning + .milliseconds(next)
        return [world, bridge.deadline].compactMap(\.self).min() ?? beginning + .seconds(1 << 30)
    }

    // MARK: Events

    func start(at now: Instant, _ time: Timestamp) -> [Bridge.Effect] {
        run(to: now)
        perform(bridge.start(at: Bridge.Moment(now, time: time)), at: now, time)
        return drainOrders()
    }

    func tick(at now: Instant, _ time: Timestamp) -> [Bridge.Effect] {
        run(to: now)
        attend(at: now, time)
        if let deadline = bridge.deadline, deadline <= now { handle(.tick, at: now, time) }
        return drainOrders()
    }

    func handle(_ events: [Bridge.Event], at now: Instant, _ time: Timestamp) -> [Bridge.Effect] {
        run(to: now)
        attend(at: now, time)
        for event in events { handle(event, at: now, time) }
        return drainOrders()
    }

    func change(_ text: String, at now: Instant, _ time: Timestamp) throws -> [Bridge.Effect] {
        run(to: now)
        try device.change(text)
        attend(at: now, time)
        return drainOrders()
    }

    /// Stops the bridge, which says goodbye to the broker.
    func stopBridge(at now: Instant, _ time: Timestamp) -> [Bridge.Effect] {
        run(to: now)
        handle(.stop, at: now, time)
        return drainOrders()
    }

    /// Stops the program.
    /// - Returns: content of the key file after the last change.
    func stop(at now: Instant, _ time: Timestamp) -> StoredState {
        run(to: now)
        device.stop()
        attend(at: now, time)
        return disk
    }

    /// Stores a cell that only a later version reads, as a later version may do.
    func storeCell(of version: String) {
        disk.kept[CellID(kind: CellID.keptKinds.upperBound)] = Secret(text: version)
    }

    private func run(to now: Instant) { device.run(until: max(0, (now - beginning).milliseconds)) }

    private func drainOrders() -> [Bridge.Effect] {
        defer { orders = [] }
        return orders
    }

    private func handle(_ event: Bridge.Event, at now: Instant, _ time: Timestamp) {
        perform(bridge.handle(event, at: Bridge.Moment(now, time: time)), at: now, time)
    }

    private func perform(_ effects: [Bridge.Effect], at now: Instant, _ time: Timestamp) {
        for effect in effects {
            switch effect {
            case .connectAgent: handle(.agentConnected, at: now, time)
            case .disconnectAgent: (isSubscribed, answers, unanswered) = (false, [], [:])
            // The simulated agent has no port for apps.
            case .connectTunnel(let id): handle(.tunnelEnded(id), at: now, time)
            case .sendToTunnel, .disconnectTunnel: break
            case .sendToAgent(let line):
                answer(line)
                attend(at: now, time)
            case .log, .remember, .identify: break
            case .connectBroker, .disconnectBroker, .subscribe, .publish, .over: orders.append(effect)
            }
        }
    }

    // MARK: Agent

    private func attend(at now: Instant, _ time: Timestamp) {
        var effects = device.drainEffects()
        while !effects.isEmpty {
            for effect in effects { perform(effect, at: now, time) }
            effects = device.drainEffects()
        }
        while let first = answers.first, let line = first.line {
            answers.removeFirst()
            handle(.agentSaid(line), at: now, time)
        }
    }

    private func perform(_ effect: Effect, at now: Instant, _ time: Timestamp) {
        switch effect {
        case .answer(let number, let result):
            guard let id = unanswered.removeValue(forKey: number) else { return }
            fill(id, result)
        case .publish(let body):
            eventCount += 1
            if case .networkChanged(let network) = body { isOnNetwork = network.uplink != nil }
            guard isSubscribed else { return }
            handle(.agentSaid(Event(seq: eventCount, time: device.time, body: body).line()), at: now, time)
        case .commit(let id, let change):
            do throws(ProtocolError) {
                var state = disk
                try change.apply(to: &state)
                disk = state
                device.committed(id, state)
            } catch {
                device.handle(.refusedCommit(id, error))
            }
        default: break
        }
    }

    private func fill(_ id: String, _ result: Result<Response.Body, ProtocolError>) {
        guard let index = answers.firstIndex(where: { $0.id == id && $0.line == nil }) else { return }
        answers[index].line = Response(id: id, result: result).line()
        if case .success(.switchStatus(let status)) = result { device.handle(.answerSent(switchID: status.switchId)) }
    }

    private func answer(_ line: [UInt8]) {
        do throws(RejectedRequest) {
            let request = try Request(line: line)
            answers.append((request.id, nil))
            do throws(ProtocolError) {
                if let body = try answer(request) { fill(request.id, .success(body)) }
            } catch {
                fill(request.id, .failure(error))
            }
        } catch {
            answers.append((error.id ?? "", Response(id: error.id, result: .failure(error.error)).line()))
        }
    }

    /// - Returns: the answer; nil if the core answers later.
    private func answer(_ request: Request) throws(ProtocolError) -> Response.Body? {
        switch request.content {
        case .subscribe:
            isSubscribed = true
            return .subscribed(Subscribed(seq: eventCount, stream: "fleet"))
        case .open: throw ProtocolError(.unsupported, "a simulated device opens no session").about("type")
        case .prove(let proved):
            guard proved.isProved(by: Secret(text: Self.localKey(of: id)), deviceId: id) else {
                throw ProtocolError(.keyRefused, "the device has no such key")
            }
            return try answer(Request(id: request.id, content: .device(try proved.request().body)))
        case .device(let body):
            switch body {
            case .getCapabilities:
                return .capabilities(
                    Capabilities(
                        maxBackupNetworks: maximumBackups, deviceId: id, firmware: version,
                        features: AgentCore.features))
            case .getNetwork: return .network(device.status())
            case .getBackups: return .backups(device.core.backupList(at: device.clock))
            case .getSwitch(let query): return .switchStatus(try device.core.switchStatus(query.switchId))
            case .getHistory(let query): return .history(History(decisions: device.core.history(query.limit)))
            case .getMetrics: return .metrics(device.metrics(version: version))
            case .agreeKey(let query):
                return .key(try seals.key(for: query, of: Secret(text: FleetDevice.localKey(of: id))))
            case .updateBackups(let update):
                ask(request.id, try AgentRequest(update, maximumBackups: maximumBackups, openedWith: seals))
            case .switchNetwork(let order): ask(request.id, try AgentRequest(order, openedWith: seals))
            case .stagePassword(let staging): ask(request.id, try AgentRequest(staging, openedWith: seals))
            case .dropPassword(let query): ask(request.id, .dropPassword(query.changeId))
            case .confirmSwitch(let query): ask(request.id, .confirmSwitch(query.switchId))
            case .setName(let change): ask(request.id, .setName(change.name))
            case .startScan(let scan): ask(request.id, .startScan(scan))
            default: throw ProtocolError(.unsupported, "a simulated device of a fleet cannot do this").about("type")
            }
            return nil
        }
    }

    private func ask(_ id: String, _ request: AgentRequest) {
        requests += 1
        unanswered[RequestID(requests)] = id
        device.handle(.request(RequestID(requests), request))
    }

    /// Returns the local key of a simulated device. It is derived from the ID, so that the operator knows it.
    static func localKey(of id: String) -> String {
        String(("fleet-key-of-" + id + String(repeating: "-", count: 64)).prefix(32))
    }
}
