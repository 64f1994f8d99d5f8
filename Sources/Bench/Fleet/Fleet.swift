import AgentModel
import AppProtocol
import BrokerIO
import Glibc
import KeyFile
import Linux
import MQTTBridge
import Simulation

/// Thousands of devices in one process, each with a connection of its own to a real broker. Its time is the clock's.
package final class Fleet {
    package struct Settings {
        package var devices: Int
        /// The number of the first, where other processes have others.
        package var first = 0
        /// Nodes of one broker: a device goes to the next one where the last has failed, as a balancer has it.
        package var brokers: [BrokerAddress]
        /// PEM of the authorities that the broker's certificate is by; nil without TLS.
        package var authorities: String?
        package var bridge = BridgeSettings()
        package var scenario: Scenario

        /// - Parameter brokers: one at least.
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
        /// Attempts to connect.
        var attempts = 0
        /// As it was counted last.
        var isConnected = false
        /// Whether it was connected since that is counted.
        var hasReturned = false
        /// Without power.
        var isDark = false
        /// When it is looked after next; what the agenda has of earlier is out of date.
        var due: Int64 = .max
    }

    private let settings: Settings
    private let poller: Poller
    /// A board has a few threads for its attempts; these are all boards together.
    private let limit = AttemptLimit(500)
    private var slots: [Slot] = []
    private var agenda = Agenda()
    /// Messages that were handed to the broker since the fleet began.
    package private(set) var published = 0
    /// Devices that the broker has let in.
    package private(set) var connected = 0
    /// Devices that it has let in since ``countReturns()``; some of them may be on a move now.
    package private(set) var returned = 0
    /// Connections that the broker has let in, by the second since 1970.
    package private(set) var connectsBySecond: [Int: Int] = [:]
    /// Attempts to connect, likewise, by when they fell due: a board has a processor of its own, and these share one.
    package private(set) var attemptsBySecond: [Int: Int] = [:]
    /// How late something was done at most, since ``countReturns()``: what this machine adds.
    package private(set) var latest = Duration.zero
    /// When that fell due which is being done.
    private var dueNow: Instant?
    /// Attempts that failed and connections that ended, by the reason.
    package private(set) var failures: [String: Int] = [:]

    private var starting: (began: Instant, rate: Int)?
    private var started = 0

    /// Whether the provider of all of them is down: nothing gets through, and nothing new is let through.
    private var isCut = false

    /// The change that is under way, with what has happened to each device by it.
    private var change: StagedChange?
    private var changeBegan = Instant.now
    private var affairs: [Affair] = []
    private var incidents = Agenda()
    private var outcome = StagedOutcome()

    private struct Affair {
        let story: StagedStory
        var phase: StagedPassword.Phase?
        /// What has changed in its world, in the words of scenarios.
        var changes: [String] = []
    }

    private enum Incident: Int, CaseIterable { case router, cut, power }

    /// - Throws: where the machine has too few descriptors for that many connections, for example.
    package init(_ settings: Settings) throws {
        self.settings = settings
        poller = try Poller()
        // A socket, libmosquitto's pair of them and an attempt's event for each.
        let files = rlim_t(settings.devices * 4 + 500)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_max = max(limit.rlim_max, files)
        limit.rlim_cur = limit.rlim_max
        guard limit.rlim_cur >= files, setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            throw SystemError(
                "have \(files) open files: raise the limit (ulimit -n), or use more processes", errno: errno)
        }
        // The key of a password is derived once for all: that takes milliseconds.
        let state = LiveDevice.firstState(of: settings.scenario) { _, ssid in
            Secret((0..<32).map { UInt8(truncatingIfNeeded: $0 &+ ssid.bytes.count) })
        }
        slots.reserveCapacity(settings.devices)
        for number in 0..<settings.devices {
            slots.append(Slot(device: try device(number, state)))
        }
    }

    /// - Parameter runs: how often it has begun already.
    private func device(_ number: Int, _ state: StoredState, runs: UInt64 = 0) throws -> FleetDevice {
        let id = Self.id(settings.first + number)
        return try FleetDevice(
            id: id, settings.scenario, state: state, localKey: Secret(text: FleetDevice.localKey(of: id)),
            settings.bridge, seed: UInt64(settings.first + number) + 1 + runs << 32, at: .now, .now)
    }

    package static func id(_ number: Int) -> String { "device-\(number)" }

    /// The key with which its owner opens it.
    package static func key(of number: Int) throws(ProtocolError) -> DeviceKey {
        let id = id(number)
        return try DeviceKey(deviceId: id, localKey: Secret(text: FleetDevice.localKey(of: id)))
    }

    // MARK: What it is

    package var lostMessages: Int { slots.reduce(0) { $0 + $1.device.lostMessages } }

    // MARK: What is done to it

    /// - Parameter rate: how many devices are switched on in a second.
    package func start(_ rate: Int) { starting = (Instant.now, max(1, rate)) }

    private func startDue() {
        guard let (began, rate) = starting else { return }
        let due = min(slots.count, Int((Instant.now - began).milliseconds) * rate / 1000 + 1)
        while started < due {
            carryOut(slots[started].device.start(at: Instant.now, .now), started)
            started += 1
        }
        if started == slots.count { starting = nil }
    }

    /// The provider of all of them goes down: their connections lead nowhere from now on.
    package func cut() {
        isCut = true
        for number in slots.indices where slots[number].link != nil {
            drop(number)
            fail(number, "the network is cut")
        }
        tellAll("dead")
    }

    /// Counts from now on which devices are back.
    package func countReturns() {
        for number in slots.indices { slots[number].hasReturned = slots[number].isConnected }
        returned = connected
        latest = .zero
    }

    package func restore() {
        isCut = false
        tellAll("online")
    }

    /// Their networks lead so far from now on: a device that validates its networks finds that out by itself.
    private func tellAll(_ internet: String) {
        let names = settings.scenario.accessPoints.map(\.name).joined(separator: ",")
        for number in slots.indices { carryOut(changed(number, "\(names) internet \(internet)"), number) }
    }

    /// Goes on until this is so, or the time is over.
    /// - Returns: whether it is so.
    package func run(until isDone: () -> Bool = { false }, within limit: Duration) -> Bool {
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
        while let incident = incidents.take(dueBy: moment) { happen(incident) }
        while let number = agenda.take(dueBy: moment) {
            guard slots[number].due <= moment, !slots[number].isDark else { continue }
            dueNow = Instant(milliseconds: slots[number].due)
            defer { dueNow = nil }
            slots[number].due = .max
            if let link = slots[number].link { link.proceed(isReady: false) }
            deliver(number)
            carryOut(slots[number].device.tick(at: Instant.now, .now), number)
        }
    }

    /// What the broker has said.
    private func deliver(_ number: Int) {
        guard let events = slots[number].link?.takeEvents() else { return }
        for event in events {
            switch event {
            case .brokerAccepted: connectsBySecond[Self.second, default: 0] += 1
            case .brokerFailed(let failure): failures[failure.text, default: 0] += 1
            default: break
            }
        }
        carryOut(events.isEmpty ? [] : slots[number].device.take(events, at: Instant.now, .now), number)
    }

    private static var second: Int { Int(Timestamp.now.millisecondsSince1970 / 1000) }

    private func fail(_ number: Int, _ text: String) {
        carryOut(
            slots[number].device.take(
                [.brokerFailed(BrokerFailure(.unreachable, text))], at: Instant.now, .now), number)
    }

    private func carryOut(_ effects: [Bridge.Effect], _ number: Int) {
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
            case .connectAgent, .disconnectAgent, .tellAgent, .remember, .identify, .say, .over: break
            }
        }
        if slots[number].link != nil, !slots[number].device.isOnNetwork {
            drop(number)
            fail(number, "the network is gone")
        }
        follow(number)
        plan(number)
        observe(number)
        let isConnected = slots[number].device.isConnected
        if isConnected != slots[number].isConnected { connected += isConnected ? 1 : -1 }
        if isConnected, !slots[number].hasReturned { (slots[number].hasReturned, returned) = (true, returned + 1) }
        slots[number].isConnected = isConnected
    }

    /// Lets go of the connection, if there is one.
    private func drop(_ number: Int) {
        if let interest = slots[number].interest { poller.remove(interest) }
        slots[number].interest = nil
        slots[number].link?.close(isGoodbye: false)
        slots[number].link = nil
    }

    /// Waits for what the connection waits for.
    private func follow(_ number: Int) {
        let old = slots[number].interest
        guard let wait = slots[number].link?.wait, wait.descriptor >= 0 else {
            // It has ended. Without it what was waited for is closed too: an attempt's event would stay readable.
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

    // MARK: A staged change

    /// From now on the routers of those devices change that get this password.
    package func begin(_ change: StagedChange) {
        self.change = change
        changeBegan = .now
        affairs = slots.indices.map { Affair(story: StagedStory(of: settings.first + $0)) }
        outcome = StagedOutcome()
        outcome.devices = slots.count
        outcome.right = affairs.count { $0.story.router == .newer }
        outcome.wrong = slots.count - outcome.right
    }

    package var stagedOutcome: StagedOutcome {
        var outcome = outcome
        outcome.connected = connected
        return outcome
    }

    private func observe(_ number: Int) {
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

    private func happen(_ number: Int) {
        let (number, kind) = number.quotientAndRemainder(dividingBy: Incident.allCases.count)
        switch Incident(rawValue: kind) {
        case .router: changeRouter(number)
        case .cut:
            outcome.cut += 1
            (slots[number].isDark, slots[number].due) = (true, .max)
            drop(number)
            if slots[number].isConnected { connected -= 1 }
            slots[number].isConnected = false
            plan(.power, number, in: StagedStory.dark)
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
        carryOut(changed(number, text), number)
    }

    private func changed(_ number: Int, _ text: String) -> [Bridge.Effect] {
        (try? slots[number].device.change(text, at: .now, .now)) ?? []
    }

    /// A device has power again: it has what was on its disk, in the world as it is.
    private func begin(anew number: Int) {
        guard let device = try? device(number, slots[number].device.state, runs: 1) else { return }
        slots[number].device = device
        slots[number].isDark = false
        var effects: [Bridge.Effect] = []
        for text in affairs[number].changes { effects += changed(number, text) }
        carryOut(effects + slots[number].device.start(at: .now, .now), number)
    }
}
