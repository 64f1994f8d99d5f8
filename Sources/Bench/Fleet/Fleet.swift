import Agent
import AgentModel
import AppProtocol
import BrokerIO
import KeyFile
import MQTTBridge
import Simulation

/// Thousands of devices in one process, each with a separate connection to a broker. The transport decides whether time
/// and broker are real.
package final class Fleet {
    package struct Settings {
        package var devices: Int
        /// Number of the first device. Other processes run devices with other numbers.
        package var first = 0
        package var bridge = BridgeSettings()
        package var scenario: Scenario
        /// Folder for the devices' key files, which upgrades read and write.
        package var keyFiles = ""

        package init(devices: Int, scenario: Scenario) {
            (self.devices, self.scenario) = (devices, scenario)
            bridge.discoveryPrefix = nil
            bridge.role = .manage
        }
    }

    struct Slot {
        var device: FleetDevice
        var link: (any FleetLink)?
        var attempts = 0
        /// Whether `connected` includes this device.
        var isConnected = false
        /// Whether the device has connected since `countReturns()`.
        var hasReturned = false
        var isDark = false
        /// Time of the next tick in milliseconds. Entries in the agenda with an earlier time are obsolete.
        var due: Int64 = .max
    }

    let settings: Settings
    let transport: any FleetTransport
    var slots: [Slot] = []
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
    private var changeBegan: Instant
    private var affairs: [Affair] = []
    var incidents = Agenda()
    private var outcome = RotationOutcome()

    /// Updaters of the devices; empty before the first upgrade.
    var updaters: [Updater] = []
    package internal(set) var upgradeOutcome = UpgradeOutcome()

    private struct Affair {
        let story: RotationScenario
        var phase: StagedPassword.Phase?
        /// Changes of the device's world so far, with the syntax of scenarios.
        var changes: [String] = []
    }

    enum Incident: Int, CaseIterable { case router, cut, power, stop, boot, check }

    package init(_ settings: Settings, over transport: any FleetTransport) throws {
        (self.settings, self.transport, changeBegan) = (settings, transport, transport.now)
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
    func device(
        _ number: Int, _ state: StoredState, runs: UInt64 = 0, version: String = Version.current
    ) throws -> FleetDevice {
        let id = Self.id(settings.first + number)
        return try FleetDevice(
            id: id, version: version, settings.scenario, state: state,
            localKey: Secret(text: FleetDevice.localKey(of: id)), settings.bridge,
            seed: UInt64(settings.first + number) + 1 + runs << 32, at: now, transport.time)
    }

    package static func id(_ number: Int) -> String { "device-\(number)" }
    package static func number(of id: String) -> Int? { Int(id.dropFirst("device-".count)) }

    package static func key(of number: Int) throws(ProtocolError) -> DeviceKey {
        let id = id(number)
        return try DeviceKey(deviceId: id, localKey: Secret(text: FleetDevice.localKey(of: id)))
    }

    // MARK: State

    var now: Instant { transport.now }
    package var lostMessages: Int { slots.reduce(0) { $0 + $1.device.lostMessages } }

    // MARK: Control

    /// Starts to switch the devices on.
    /// - Parameter rate: number of devices per second.
    package func start(_ rate: Int) { starting = (now, max(1, rate)) }

    private func startDue() {
        guard let (began, rate) = starting else { return }
        let due = min(slots.count, Int((now - began).milliseconds) * rate / 1000 + 1)
        while started < due {
            perform(slots[started].device.start(at: now, transport.time), started)
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
        let end = now + limit
        while now < end {
            if isDone() { return true }
            turn(until: min(end, now + .milliseconds(100)))
        }
        return isDone()
    }

    func turn(until end: Instant) {
        startDue()
        let due = [agenda.next, incidents.next].compactMap(\.self).min().map { Instant(milliseconds: $0) }
        let limit = starting != nil ? now + .milliseconds(1) : min(due ?? end, end)
        for number in transport.wait(until: max(now, limit)) {
            guard let link = slots[number].link else { continue }
            link.proceed(isReady: true)
            deliver(number)
        }
        let moment = now.milliseconds
        while let incident = incidents.removeFirst(dueBy: moment) { perform(incident) }
        while let number = agenda.removeFirst(dueBy: moment) {
            guard slots[number].due <= moment, !slots[number].isDark else { continue }
            dueNow = Instant(milliseconds: slots[number].due)
            defer { dueNow = nil }
            slots[number].due = .max
            if let link = slots[number].link { link.proceed(isReady: false) }
            deliver(number)
            perform(slots[number].device.tick(at: now, transport.time), number)
        }
    }

    private func deliver(_ number: Int) {
        guard let events = slots[number].link?.drainEvents() else { return }
        for event in events {
            switch event {
            case .brokerAccepted: connectsBySecond[second, default: 0] += 1
            case .brokerFailed(let failure): failures[failure.text, default: 0] += 1
            default: break
            }
        }
        guard !events.isEmpty else { return follow(number) }
        perform(slots[number].device.handle(events, at: now, transport.time), number)
    }

    private var second: Int { Int(transport.time.millisecondsSince1970 / 1000) }

    private func fail(_ number: Int, _ text: String) {
        perform(
            slots[number].device.handle(
                [.brokerFailed(BrokerFailure(.unreachable, text))], at: now, transport.time), number)
    }

    func perform(_ effects: [Bridge.Effect], _ number: Int) {
        for effect in effects {
            switch effect {
            case .connectBroker(let hello):
                drop(number)
                guard !isCut, slots[number].device.isOnNetwork else {
                    fail(number, "the network is cut")
                    continue
                }
                // Devices start at different nodes of the broker, and each attempt of a device uses the next node.
                let node = settings.first + number + slots[number].attempts
                slots[number].attempts += 1
                let late = dueNow.map { now - $0 } ?? .zero
                latest = max(latest, late)
                let due = transport.time.millisecondsSince1970 - late.milliseconds
                attemptsBySecond[Int(due / 1000), default: 0] += 1
                do throws(BrokerFault) {
                    slots[number].link = try transport.connect(number, hello, toNode: node)
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

    private func follow(_ number: Int) {
        guard let link = slots[number].link, !transport.follow(link, of: number), link.events.isEmpty else { return }
        slots[number].link = nil
    }

    func drop(_ number: Int) {
        guard let link = slots[number].link else { return }
        transport.forget(number)
        link.close(isGoodbye: false)
        slots[number].link = nil
    }

    func plan(_ number: Int) {
        let now = self.now
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
        changeBegan = now
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
            outcome.committedBySecond[Int((now - changeBegan).components.seconds), default: 0] += 1
        case .dropped, .expired: outcome.undone += 1
        }
    }

    func plan(_ incident: Incident, _ number: Int, in wait: Duration) {
        incidents.add(
            number * Incident.allCases.count + incident.rawValue, due: (now + wait).milliseconds)
    }

    func perform(_ number: Int) {
        let (number, kind) = number.quotientAndRemainder(dividingBy: Incident.allCases.count)
        switch Incident(rawValue: kind) {
        case .router: changeRouter(number)
        case .cut:
            outcome.cut += 1
            darken(number)
            plan(.power, number, in: RotationScenario.dark)
        case .power: begin(anew: number)
        case .stop: stopProgram(number)
        case .boot: boot(number)
        case .check: checkTrial(number)
        case nil: break
        }
    }

    func darken(_ number: Int) {
        (slots[number].isDark, slots[number].due) = (true, .max)
        drop(number)
        if slots[number].isConnected { connected -= 1 }
        slots[number].isConnected = false
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

    func changed(_ number: Int, _ text: String) -> [Bridge.Effect] {
        (try? slots[number].device.change(text, at: now, transport.time)) ?? []
    }

    /// Restarts a device after a power cut. It has its stored state and the current world.
    private func begin(anew number: Int) {
        guard let device = try? device(number, slots[number].device.state, runs: 1) else { return }
        slots[number].device = device
        slots[number].isDark = false
        var effects: [Bridge.Effect] = []
        for text in affairs[number].changes { effects += changed(number, text) }
        perform(effects + slots[number].device.start(at: now, transport.time), number)
    }
}
