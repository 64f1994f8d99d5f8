import AgentModel
import AppProtocol
import MQTTBridge

/// A change of a password on its way to the devices of a fleet: what the broker says goes in, what it is to be told comes out. It
/// opens nothing, reads no clock and keeps no file.
///
/// ```
///   waiting -- key.agree, password.stage --> staged -- its network takes it -------------> committed
///                                              |                                            ^
///                                              +-- network.switch --> trying -- confirmed --+
///                                              |                        |
///                                              +---- password.drop <----+ not confirmed --> undone
/// ```
public struct Rollout: Sendable {
    public enum Goal: Sendable { case apply, undo }

    public let change: FleetChange
    public private(set) var record: RolloutRecord
    public private(set) var roster: Roster

    private let goal: Goal
    private let keys: [String: DeviceKey]
    private let prefix: String
    private let run: String
    private let atOnce: Int
    private let nonce: @Sendable () -> Nonce
    private let time: @Sendable () -> Timestamp

    /// What each device is at; nothing for one that has nothing to do.
    private var activities: [String: Activity] = [:]
    /// The devices of questions on their way, by the questions' ids.
    private var questions: [String: String] = [:]
    /// Devices that wait to be asked, and how many of them were taken from the front.
    private var queue: [String] = []
    private var taken = 0
    private var lastNumber = 0
    private var failures: [String: Int] = [:]
    private var lastLook: Instant?
    private var kept = KeptMessages()
    /// Whether the broker has told what it keeps, since the connection stands.
    private var hasHeardKept = false
    /// Whether devices are asked that the broker has told nothing of.
    private var asksUnknown = false
    private var isChanged = true

    private enum Activity: Sendable {
        case queued
        case asked(Step, until: Instant)
        case resting(until: Instant)
        /// Waits for the end of the switch to its newer password.
        case trying(switchId: String, until: Instant)
    }

    private enum Step: Sendable {
        case agree(Nonce)
        case stage
        case attempt
        case drop
    }

    /// How long an answer may take, how long a device rests that did not give one, and how often it is asked.
    static let answerWithin = Duration.seconds(30)
    static let rest = Duration.seconds(5)
    static let attempts = 4
    /// How long a device may take to scan and join before the time begins in which it is to be confirmed.
    static let joining = Duration.seconds(120)
    private static let look = Duration.seconds(1)

    /// - Parameters:
    ///   - keys: of the devices, by their ids.
    ///   - record: of an earlier run, or an empty one.
    ///   - run: letters and digits that no other run has: the answers come on a topic of that name.
    ///   - atOnce: how many devices are asked at a time.
    ///   - nonce: a number that was never used before.
    ///   - time: the time of day, from which requests expire.
    public init(
        _ change: FleetChange, _ goal: Goal, keys: [String: DeviceKey], record: RolloutRecord? = nil,
        prefix: String = "altnet", run: String, atOnce: Int = 64, nonce: @escaping @Sendable () -> Nonce,
        time: @escaping @Sendable () -> Timestamp
    ) {
        (self.change, self.goal, self.prefix, self.run) = (change, goal, prefix, run)
        (self.nonce, self.time) = (nonce, time)
        self.atOnce = max(1, atOnce)
        self.keys = keys.filter { change.devices?.contains($0.key) ?? true }
        self.record = record ?? RolloutRecord(changeId: change.staging.changeId)
        roster = Roster(prefix: prefix)
        for id in self.keys.keys where self.record.devices[id] == nil { self.record.devices[id] = .init(.waiting) }
        // What was on its way when an earlier run ended is asked for again.
        for (id, device) in self.record.devices where device.phase == .trying {
            self.record.devices[id]?.phase = .staged
        }
    }

    /// The topic on which the devices answer.
    public var answers: String { "altnet-fleet/\(run)" }

    /// Whether the broker has let the owner in once.
    public var wasConnected: Bool { kept.end != nil }

    /// Whether the broker has told what it keeps, and no device that is online has anything to do.
    public var isSettled: Bool { hasHeardKept && activities.isEmpty }

    /// Whether all devices have come to an end.
    public var isOver: Bool {
        record.devices.values.allSatisfy { device in
            switch device.phase {
            case .committed, .undone, .refused: true
            case .waiting, .staged, .trying: false
            }
        }
    }

    /// Devices of the change that the broker does not know to be online.
    public var offline: Int { record.devices.keys.count { roster.devices[$0]?.isOnline != true } }

    /// The record, where it has changed since it was taken.
    public mutating func takeRecord() -> RolloutRecord? {
        defer { isChanged = false }
        return isChanged ? record : nil
    }

    // MARK: What happens

    /// A connection stands.
    /// - Returns: what is to be heard by it.
    public mutating func connected(at now: Instant) -> [Subscription] {
        kept.begin(at: now)
        hasHeardKept = false
        return [
            Subscription(topic: answers, wantsRetained: false),
            Subscription(topic: "\(prefix)/+/switch", wantsRetained: false),
        ] + roster.subscriptions
    }

    /// The connection has ended: what was asked is asked again.
    public mutating func lost() {
        questions = [:]
        for (id, activity) in activities {
            guard case .asked = activity else { continue }
            activities[id] = nil
            consider(id)
        }
    }

    /// When ``tick(at:)`` is due; nil while nothing is waited for.
    public var deadline: Instant? {
        [activities.isEmpty ? nil : lastLook.map { $0 + Self.look }, hasHeardKept ? nil : kept.end]
            .compactMap(\.self).min()
    }

    /// Time has passed.
    /// - Returns: what is to be published.
    public mutating func tick(at now: Instant) -> [OutgoingMessage] {
        lastLook = now
        if !hasHeardKept, let end = kept.end, end <= now { heardKept() }
        for (id, activity) in activities {
            switch activity {
            case .asked(_, let until) where until <= now: fail(id, "noAnswer", at: now)
            case .resting(let until) where until <= now:
                activities[id] = nil
                consider(id)
            case .trying(_, let until) where until <= now: endTrial(of: id, "unconfirmed")
            case .queued, .asked, .resting, .trying: break
            }
        }
        return ask(at: now)
    }

    /// The broker has a message.
    /// - Returns: what is to be published.
    public mutating func hear(_ message: IncomingMessage, at now: Instant) -> [OutgoingMessage] {
        if lastLook == nil { lastLook = now }
        kept.note(message, at: now)
        var messages: [OutgoingMessage] = []
        if message.topic == answers {
            take(message.payload, at: now, &messages)
        } else if let id = device(of: message.topic, "switch") {
            follow(message.payload, of: id, at: now, &messages)
        } else if let id = roster.note(message), keys[id] != nil {
            if message.topic.hasSuffix("/availability"), !message.isRetained { failures[id] = nil }
            if let list = roster.devices[id]?.backups { note(list, of: id) }
            consider(id)
        }
        return messages + ask(at: now)
    }

    /// The broker has told what it keeps. Where that is nothing of any device, as with a broker that keeps nothing for
    /// topics with wildcards, all are asked.
    private mutating func heardKept() {
        hasHeardKept = true
        guard roster.devices.isEmpty, !asksUnknown else { return }
        asksUnknown = true
        for id in keys.keys.sorted() { consider(id) }
    }

    private func device(of topic: String, _ last: String) -> String? {
        guard let (id, name) = Topics.device(of: topic, below: prefix), name == last, keys[id] != nil else {
            return nil
        }
        return id
    }

    // MARK: What would be asked

    /// What would be done, as far as the broker's kept messages tell.
    public struct Plan: Sendable, Equatable, Encodable {
        public enum Step: String, Sendable, Encodable, CaseIterable {
            case stage, drop, nothing, offline, unknown, notStored
        }

        public struct Entry: Sendable, Equatable, Encodable {
            public let step: Step
            public let devices: [String]
        }

        /// Those with a device, in the order of the steps.
        public let entries: [Entry]
    }

    public func plan(with roster: Roster) -> Plan {
        var rollout = self
        rollout.roster = roster
        for id in keys.keys { if let list = roster.devices[id]?.backups { rollout.note(list, of: id) } }
        let steps = Dictionary(grouping: rollout.record.devices.keys.sorted()) { rollout.plannedStep(of: $0) }
        return Plan(
            entries: Plan.Step.allCases.compactMap { step in steps[step].map { .init(step: step, devices: $0) } })
    }

    private func plannedStep(of id: String) -> Plan.Step {
        guard let step = step(of: id) else { return .nothing }
        guard let device = roster.devices[id], let isOnline = device.isOnline else { return .unknown }
        guard isOnline else { return .offline }
        switch step {
        case .drop: return .drop
        case .agree, .stage, .attempt:
            guard let backups = device.backups else { return .stage }
            return backups.stored.contains { $0.ssid == change.staging.network.ssid } ? .stage : .notStored
        }
    }

    // MARK: What is asked

    private func step(of id: String) -> Step? {
        guard let device = record.devices[id], keys[id] != nil, failures[id] ?? 0 < Self.attempts else { return nil }
        switch (goal, device.phase) {
        case (_, .committed), (_, .undone), (_, .refused), (_, .trying): return nil
        case (.undo, .waiting), (.undo, .staged): return .drop
        case (.apply, .waiting): return .agree(nonce())
        // A trial that has failed leaves its reason.
        case (.apply, .staged): return change.confirmWithin == nil ? nil : device.reason == nil ? .attempt : .drop
        }
    }

    /// The device may have something to do.
    private mutating func consider(_ id: String) {
        guard activities[id] == nil, roster.devices[id]?.isOnline ?? asksUnknown, step(of: id) != nil else { return }
        activities[id] = .queued
        queue.append(id)
    }

    private mutating func ask(at now: Instant) -> [OutgoingMessage] {
        var messages: [OutgoingMessage] = []
        while questions.count < atOnce, taken < queue.count {
            let id = queue[taken]
            taken += 1
            guard case .queued = activities[id] else { continue }
            activities[id] = nil
            if let step = step(of: id), let message = ask(step, id, at: now) { messages.append(message) }
        }
        if taken == queue.count { (queue, taken) = ([], 0) }
        return messages
    }

    private mutating func ask(_ step: Step, _ id: String, at now: Instant) -> OutgoingMessage? {
        let body: Request.Body
        switch step {
        case .agree(let nonce): body = .agreeKey(SealingKeyQuery(nonce: nonce))
        // That follows the answer to `agree`, for it is sealed with what the device has shown.
        case .stage: return nil
        case .attempt:
            guard let hash = staged(of: id)?.hash else {
                endTrial(of: id, "noHash")
                return nil
            }
            body = .switchNetwork(
                SwitchRequest(target: .stored(hash), confirmWithin: change.confirmWithin, besideUplink: true))
        case .drop: body = .dropPassword(StagedPasswordQuery(changeId: change.staging.changeId))
        }
        return send(body, step, id, at: now)
    }

    private mutating func send(_ body: Request.Body, _ step: Step, _ id: String, at now: Instant) -> OutgoingMessage? {
        guard let message = message(body, to: id, until: Self.answerWithin) else {
            refuse(id, "malformed")
            return nil
        }
        questions[message.id] = id
        activities[id] = .asked(step, until: now + Self.answerWithin)
        return message.message
    }

    /// Proves each request with the device's key, so that the broker can alter none and send none again.
    private mutating func message(
        _ body: Request.Body, to id: String, until expiry: Duration
    ) -> (id: String, message: OutgoingMessage)? {
        guard let key = keys[id] else { return nil }
        lastNumber += 1
        let name = "\(run)-\(lastNumber)"
        let expires = Timestamp(millisecondsSince1970: time().millisecondsSince1970 + expiry.milliseconds)
        guard let proved = try? ProvedRequest(Request(id: name, content: .device(body)), until: expires, by: key),
            let line = try? Request(id: name, content: .prove(proved)).line()
        else { return nil }
        return (
            name,
            OutgoingMessage(
                topic: Topics(prefix: prefix, deviceId: id).request, payload: line, responseTopic: answers,
                expiry: expiry)
        )
    }

    private func staged(of id: String) -> StagedPasswordStatus? {
        roster.devices[id]?.backups?.staged.last { $0.changeId == change.staging.changeId }
    }

    // MARK: What is answered

    private mutating func take(_ line: [UInt8], at now: Instant, _ messages: inout [OutgoingMessage]) {
        guard case .answer(let name?, let failure)? = try? ServerLine(line: line),
            let id = questions.removeValue(forKey: name), case .asked(let step, _) = activities[id]
        else { return }
        activities[id] = nil
        if let failure {
            take(failure, to: step, of: id, at: now)
        } else {
            do throws(ProtocolError) { try take(line, to: step, of: id, at: now, &messages) } catch {
                refuse(id, error.code.rawValue)
            }
        }
        consider(id)
    }

    private mutating func take(_ error: ProtocolError, to step: Step, of id: String, at now: Instant) {
        switch step {
        // It is taken back already, or never came.
        case .drop where error.code == .unknownNetwork: record(id, .undone)
        case _ where error.code.kind == .tryLater || error.code.kind == .deviceFailure:
            fail(id, error.code.rawValue, at: now)
        // The device is in that network already, or cannot move now: its network will show which password is right.
        case .attempt: endTrial(of: id, error.code.rawValue)
        case .agree, .stage, .drop: refuse(id, error.code.rawValue)
        }
    }

    private mutating func take(
        _ line: [UInt8], to step: Step, of id: String, at now: Instant, _ messages: inout [OutgoingMessage]
    ) throws(ProtocolError) {
        failures[id] = nil
        switch step {
        case .agree(let nonce):
            let sealing = try ServerLine.body(SealingKey.self, of: line)
            guard let key = keys[id] else { return }
            // Else the broker, or what stands in its place, could have put a key of its own there.
            guard sealing.isProved(to: key, over: nonce) else { return refuse(id, "notTheDevice") }
            let body = try Request.Body.stagePassword(change.staging).sealed(with: sealing, for: key)
            if let message = send(body, .stage, id, at: now) { messages.append(message) }
        case .stage, .drop: note(try ServerLine.body(BackupList.self, of: line), of: id)
        case .attempt:
            let status = try ServerLine.body(SwitchStatus.self, of: line)
            let time = Self.joining + .seconds(change.confirmWithin ?? 0)
            activities[id] = .trying(switchId: status.switchId, until: now + time)
            record(id, .trying)
        }
    }

    private mutating func follow(
        _ payload: [UInt8], of id: String, at now: Instant, _ messages: inout [OutgoingMessage]
    ) {
        guard case .trying(let switchId, _) = activities[id],
            let status = try? Line.decode(SwitchStatus.self, from: payload),
            status.switchId == switchId
        else { return }
        switch status.phase {
        case .waitingForConfirmation:
            // The device has told it over the network that it tries, so it is there. The answer says nothing more.
            let confirmation = message(
                .confirmSwitch(SwitchQuery(switchId: switchId)), to: id, until: .seconds(change.confirmWithin ?? 60))
            if let confirmation { messages.append(confirmation.message) }
        case .rolledBack, .failed: endTrial(of: id, status.reason?.rawValue ?? status.phase.rawValue)
        case .accepted, .joining, .waitingForAddress, .validating, .committed: break
        }
    }

    // MARK: What becomes of it

    private mutating func note(_ list: BackupList, of id: String) {
        guard let entry = list.staged.last(where: { $0.changeId == change.staging.changeId }),
            let device = record.devices[id]
        else { return }
        switch entry.phase {
        case .staged:
            if device.phase == .waiting { record(id, .staged) }
        case .committed:
            settle(id)
            record(id, .committed)
        case .dropped, .expired:
            settle(id)
            record(id, .undone, device.reason ?? (entry.phase == .expired ? "expired" : nil))
        }
    }

    /// What it was tried for has an end.
    private mutating func settle(_ id: String) {
        if case .trying = activities[id] { activities[id] = nil }
    }

    private mutating func endTrial(of id: String, _ reason: String) {
        activities[id] = nil
        record(id, .staged, reason)
        consider(id)
    }

    private mutating func refuse(_ id: String, _ reason: String) { record(id, .refused, reason) }

    /// The device gave no answer that says anything: it is asked again after a rest, and not for ever.
    private mutating func fail(_ id: String, _ reason: String, at now: Instant) {
        questions = questions.filter { $0.value != id }
        failures[id, default: 0] += 1
        guard failures[id] ?? 0 < Self.attempts else {
            activities[id] = nil
            return
        }
        activities[id] = .resting(until: now + Self.rest)
    }

    private mutating func record(_ id: String, _ phase: RolloutRecord.Phase, _ reason: String? = nil) {
        let device = RolloutRecord.Device(phase, reason: reason)
        guard record.devices[id] != device else { return }
        record.devices[id] = device
        isChanged = true
    }
}
