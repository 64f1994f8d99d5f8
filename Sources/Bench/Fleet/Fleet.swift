import AgentModel
import AppProtocol
import BrokerIO
import Glibc
import KeyFile
import Linux
import MQTTBridge
import Simulation

/// Thousands of devices in one process, in real time. Each has a separate connection to a real broker.
package final class Fleet {
    package struct Settings {
        package var devices: Int
        /// Number of the first device. Other processes run devices with other numbers.
        package var first = 0
        /// Addresses of one broker's nodes. Devices start at different nodes, and each attempt of a device uses the
        /// next node.
        package var brokers: [BrokerAddress]
        /// Certificate authorities of the broker as PEM; nil without TLS.
        package var authorities: String?
        package var bridge = BridgeSettings()
        package var scenario: Scenario

        /// - Parameter brokers: addresses of the broker's nodes, at least one.
        package init(devices: Int, brokers: [BrokerAddress], scenario: Scenario) {
            (self.devices, self.brokers, self.scenario) = (devices, brokers, scenario)
            bridge.discoveryPrefix = nil
            bridge.role = .manage
        }
    }

    private struct Slot {
        var device: FleetDevice
        var link: BrokerConnection?
        var interest: Poller.Interest?
        var attempts = 0
        /// Whether `connected` includes this device.
        var isConnected = false
        /// Whether the device has connected since `countReturns()`.
        var hasReturned = false
        var isDark = false
        /// Time of the next tick in milliseconds. Entries in the agenda with an earlier time are obsolete.
        var due: Int64 = .max
    }

    private let settings: Settings
    private let poller: Poller
    /// Limit of simultaneous connection attempts for all devices. A single device has a limit of three.
    private let limit = AttemptLimit(500)
    private var slots: [Slot] = []
    private var agenda = Agenda()
    /// Number of messages given to the broker connections since the start.
    package private(set) var published = 0
    /// Number of devices that are connected to the broker.
    package private(set) var connected = 0
    /// Number of devices that have connected since ``countReturns()``. Some of them may be switching networks now.
    package private(set) var returned = 0
    /// Number of accepted connections, by second since 1970.
    package private(set) var connectsBySecond: [Int: Int] = [:]
    /// Number of connection attempts, by the second since 1970 in which they were due. Some start later, because all
    /// devices share one processor.
    package private(set) var attemptsBySecond: [Int: Int] = [:]
    /// Longest delay of an attempt since ``countReturns()``, due to this machine's load.
    package private(set) var latest = Duration.zero
    /// Time at which the running tick was due; nil outside of ticks.
    private var dueNow: Instant?
    /// Number of failed attempts and ended connections, by reason.
    package private(set) var failures: [String: Int] = [:]

    private var starting: (began: Instant, rate: Int)?
    private var started = 0

    /// Whether the provider of all devices is down. Then no connection works.
    private var isCut = false

    /// Current password change, and the progress of each device in `affairs`.
    private var change: RotationChange?
    private var changeBegan = Instant.now
    private var affairs: [Affair] = []
    private var incidents = Agenda()
    private var outcome = RotationOutcome()

    private struct Affair {
        let story: RotationScenario
        var phase: StagedPassword.Phase?
        /// Changes of the device's world so far, with the syntax of scenarios.
        var changes: [String] = []
    }

    private enum Incident: Int, CaseIterable { case router, cut, power }

    /// - Throws: `SystemError`, for example if the limit of open files is too low.
    package init(_ settings: Settings) throws {
        self.settings = settings
        poller = try Poller()
        // Each device needs a socket, libmosquitto's pair of sockets, and the event of an attempt.
        let files = rlim_t(settings.devices * 4 + 500)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_max = max(limit.rlim_max, files)
        limit.rlim_cur = limit.rlim_max
        guard limit.rlim_cur >= files, setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw SystemError(
                "have \(files) open files: raise the limit (ulimit -n), or use more processes", errno: errno)
        }
        // Derive the key of a password once for all devices, because it takes milliseconds.
        let state = RealTimeDevice.firstState(of: settings.scenario) { _, ssid in
            Secret((0..<32).map { UInt8(truncatingIfNeeded: $0 &+ ssid.bytes.count) })
        }
        slots.reserveCapacity(settings.devices)
        for number in 0..<settings.devices {
            slots.append(Slot(device: try device(number, state)))
        }
    }

    /// - Parameter runs: number of earlier starts of this device, which varies its random numbers.
    private func device(_ number: Int, _ state: StoredState, runs: UInt64 = 0) throws -> FleetDevice {
        let id = Self.id(settings.first + number)
        return try FleetDevice(
            id: id, settings.scenario, state: state, localKey: Secret(text: FleetDevice.localKey(of: id)),
            settings.bridge, seed: UInt64(settings.first + number) + 1 + runs << 32, at: .now, .now)
    }

    package static func id(_ number: Int) -> String { "device-\(number)" }

    package static func key(of number: Int) throws(ProtocolError) -> DeviceKey {
        let id = id(number)
        return try DeviceKey(deviceId: id, localKey: Secret(text: FleetDevice.localKey(of: id)))
    }

    // MARK: State

    package var lostMessages: Int { slots.reduce(0) { $0 + $1.device.lostMessages } }

    // MARK: Control

    /// Starts to switch the devices on.
    /// - Parameter rate: number of devices per second.
    package func start(_ rate: Int) { starting = (Instant.now, max(1, rate)) }

    private func startDue() {
        guard let (began, rate) = starting else { return }
        let due = min(slots.count, Int((Instant.now - began).milliseconds) * rate / 1000 + 1)
        while started < due {
            perform(slots[started].device.start(at: Instant.now, .now), started)
            started += 1
        }
        if started == slots.count { starting = nil }
    }

    /// Takes down the provider of all devices. Their connections end.
    package func cut() {
        isCut = true
        for number in slots.indices where slots[number].link != nil {
            drop(number)
            fail(number, "the network is cut")
        }
        changeAll("dead")
    }

    package func countReturns() {
        for number in slots.indices { slots[number].hasReturned = slots[number].isConnected }
        returned = connected
        latest = .zero
    }

    package func restore() {
        isCut = false
        changeAll("online")
    }

    /// Changes the internet access of all networks. Devices notice the change if they validate internet access.
    private func changeAll(_ internet: String) {
        let names = settings.scenario.accessPoints.map(\.name).joined(separator: ",")
        for number in slots.indices { perform(changed(number, "\(names) internet \(internet)"), number) }
    }

    /// Runs the fleet until `isDone` returns true or the time limit is over.
    /// - Returns: the last result of `isDone`.
    package func run(until isDone: () -> Bool, within limit: Duration) -> Bool {
        let end = Instant.now + limit
        while Instant.now < end {
            if isDone() { return true }
            turn(until: min(end, Instant.now + .milliseconds(100)))
        }
        return isDone()
    }

    private func turn(until end: Instant) {
        startDue()
        let now = Instant.now
        let wait = starting != nil ? 1 : min(agenda.next.map { $0 - now.milliseconds } ?? 100, (end - now).milliseconds)
        for number in poller.wait(Int(max(0, wait))) {
            guard let link = slots[number].link else { continue }
            link.proceed(isReady: true)
            deliver(number)
        }
        let moment = Instant.now.milliseconds
        while let incident = incidents.removeFirst(dueBy: moment) { perform(incident) }
        while let number = agenda.removeFirst(dueBy: moment) {
            guard slots[number].due <= moment, !slots[number].isDark else { continue }
            dueNow = Instant(milliseconds: slots[number].due)
            defer { dueNow = nil }
            slots[number].due = .max
            if let link = slots[number].link { link.proceed(isReady: false) }
            deliver(number)
            perform(slots[number].device.tick(at: Instant.now, .now), number)
        }
    }

    private func deliver(_ number: Int) {
        guard let events = slots[number].link?.drainEvents() else { return }
        for event in events {
            switch event {
            case .brokerAccepted: connectsBySecond[Self.second, default: 0] += 1
            case .brokerFailed(let failure): failures[failure.text, default: 0] += 1
            default: break
            }
        }
        perform(events.isEmpty ? [] : slots[number].device.handle(events, at: Instant.now, .now), number)
    }

    private static var second: Int { Int(Timestamp.now.millisecondsSince1970 / 1000) }

    private func fail(_ number: Int, _ text: String) {
        perform(
            slots[number].device.handle(
                [.brokerFailed(BrokerFailure(.unreachable, text))], at: Instant.now, .now), number)
    }

    private func perform(_ effects: [Bridge.Effect], _ number: Int) {
        for effect in effects {
            switch effect {
            case .connectBroker(let hello):
                drop(number)
                guard !isCut, slots[number].device.isOnNetwork else {
                    fail(number, "the network is cut")
                    continue
                }
                let node = (settings.first + number + slots[number].attempts) % settings.brokers.count
                slots[number].attempts += 1
                let late = dueNow.map { Instant.now - $0 } ?? .zero
                latest = max(latest, late)
                let due = Timestamp.now.millisecondsSince1970 - late.milliseconds
                attemptsBySecond[Int(due / 1000), default: 0] += 1
                do throws(BrokerFault) {
                    slots[number].link = try BrokerConnection(
                        hello, to: settings.brokers[node], user: nil, BrokerSecrets(authorities: settings.authorities),
                        limit: limit)
                } catch {
                    fail(number, "\(error)")
                }
            case .disconnectBroker(let isGoodbye):
                if isGoodbye { slots[number].link?.close(isGoodbye: true) }
                drop(number)
            case .subscribe(let list): slots[number].link?.subscribe(list)
            case .publish(let order, let message):
                published += 1
                slots[number].link?.publish(order, message)
            case .connectAgent, .disconnectAgent, .sendToAgent, .connectTunnel, .sendToTunnel, .disconnectTunnel,
                .remember, .identify, .log, .over:
                break
            }
        }
        if slots[number].link != nil, !slots[number].device.isOnNetwork {
            drop(number)
            fail(number, "the network is gone")
        }
        follow(number)
        plan(number)
        recordPhase(number)
        let isConnected = slots[number].device.isConnected
        if isConnected != slots[number].isConnected { connected += isConnected ? 1 : -1 }
        if isConnected, !slots[number].hasReturned { (slots[number].hasReturned, returned) = (true, returned + 1) }
        slots[number].isConnected = isConnected
    }

    private func drop(_ number: Int) {
        if let interest = slots[number].interest { poller.remove(interest) }
        slots[number].interest = nil
        slots[number].link?.close(isGoodbye: false)
        slots[number].link = nil
    }

    private func follow(_ number: Int) {
        let old = slots[number].interest
        guard let wait = slots[number].link?.wait, wait.descriptor >= 0 else {
            // The connection has ended and closes its descriptors. Forget its interest: the event of an attempt would
            // stay readable.
            slots[number].interest = nil
            if slots[number].link?.events.isEmpty ?? false { slots[number].link = nil }
            return
        }
        let new = Poller.Interest(descriptor: wait.descriptor, isForWriting: wait.readiness == .writable)
        guard new != old else { return }
        if let old, old.descriptor != new.descriptor { poller.remove(old) }
        poller.set(new, number: number, isNew: old?.descriptor != new.descriptor)
        slots[number].interest = new
    }

    private func plan(_ number: Int) {
        let now = Instant.now
        var due = max(now + .milliseconds(1), slots[number].device.due)
        if let patience = slots[number].link?.patience { due = min(due, now + patience) }
        guard due.milliseconds < slots[number].due else { return }
        slots[number].due = due.milliseconds
        agenda.add(number, due: due.milliseconds)
    }

    // MARK: Password change

    /// Starts a password change. Each device's router changes its password some time after the device gets the new one.
    package func begin(_ change: RotationChange) {
        self.change = change
        changeBegan = .now
        affairs = slots.indices.map { Affair(story: RotationScenario(of: settings.first + $0)) }
        outcome = RotationOutcome()
        outcome.devices = slots.count
        outcome.right = affairs.count { $0.story.router == .newer }
        outcome.wrong = slots.count - outcome.right
    }

    package var stagedOutcome: RotationOutcome {
        var outcome = outcome
        outcome.connected = connected
        return outcome
    }

    private func recordPhase(_ number: Int) {
        guard let change, let phase = slots[number].device.phase(of: change.changeId), affairs[number].phase != phase
        else { return }
        affairs[number].phase = phase
        switch phase {
        case .staged:
            let story = affairs[number].story
            plan(.router, number, in: story.routerAfter)
            if let cut = story.cutAfter { plan(.cut, number, in: cut) }
        case .committed:
            outcome.committed += 1
            outcome.committedBySecond[Int((Instant.now - changeBegan).components.seconds), default: 0] += 1
        case .dropped, .expired: outcome.undone += 1
        }
    }

    private func plan(_ incident: Incident, _ number: Int, in wait: Duration) {
        incidents.add(
            number * Incident.allCases.count + incident.rawValue, due: (Instant.now + wait).milliseconds)
    }

    private func perform(_ number: Int) {
        let (number, kind) = number.quotientAndRemainder(dividingBy: Incident.allCases.count)
        switch Incident(rawValue: kind) {
        case .router: changeRouter(number)
        case .cut:
            outcome.cut += 1
            (slots[number].isDark, slots[number].due) = (true, .max)
            drop(number)
            if slots[number].isConnected { connected -= 1 }
            slots[number].isConnected = false
            plan(.power, number, in: RotationScenario.dark)
        case .power: begin(anew: number)
        case nil: break
        }
    }

    private func changeRouter(_ number: Int) {
        guard let change, let network = settings.scenario.accessPoints.first?.name else { return }
        let text: String
        switch affairs[number].story.router {
        case .newer: text = "\(network) password \(change.password)"
        case .another: text = "\(network) password another-one-altogether"
        case .old: return
        }
        affairs[number].changes.append(text)
        guard !slots[number].isDark else { return }
        perform(changed(number, text), number)
    }

    private func changed(_ number: Int, _ text: String) -> [Bridge.Effect] {
        (try? slots[number].device.change(text, at: .now, .now)) ?? []
    }

    /// Restarts a device after a power cut. It has its stored state and the current world.
    private func begin(anew number: Int) {
        guard let device = try? device(number, slots[number].device.state, runs: 1) else { return }
        slots[number].device = device
        slots[number].isDark = false
        var effects: [Bridge.Effect] = []
        for text in affairs[number].changes { effects += changed(number, text) }
        perform(effects + slots[number].device.start(at: .now, .now), number)
    }
}
