import AgentModel
import AppProtocol
import MQTTBridge

/// Changes a password on the devices of a fleet. Performs no I/O: takes the broker's messages and returns messages to
/// publish.
///
/// ```
///   waiting -- key.agree, password.stage --> staged -- its network accepts it -----------> committed
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

    private var activities: [String: Activity] = [:]
    private var questions: [String: String] = [:]
    /// Devices to ask next. The first `position` entries are done.
    private var queue: [String] = []
    private var position = 0
    private var lastNumber = 0
    private var failures: [String: Int] = [:]
    private var lastLook: Instant?
    private var kept = RetainedMessages()
    /// Whether the retained messages of this connection are complete.
    private var hasHeardKept = false
    private var asksUnknown = false
    private var isChanged = true

    private enum Activity: Sendable {
        case queued
        case asked(Step, until: Instant)
        case resting(until: Instant)
        case trying(switchId: String, until: Instant)
    }

    private enum Step: Sendable {
        case agree(Nonce)
        case stage
        case attempt
        case drop
    }

    /// Time limit for an answer.
    static let answerWithin = Duration.seconds(30)
    /// Pause after a failed request.
    static let rest = Duration.seconds(5)
    /// Number of failed requests in a row after which a device is skipped.
    static let attempts = 4
    /// Time limit for scan and join, without the time for confirmation.
    static let joining = Duration.seconds(120)
    private static let look = Duration.seconds(1)

    /// - Parameters:
    ///   - keys: keys of the devices, by device ID.
    ///   - run: name of this run: unique letters and digits, the last level of the topics for answers.
    ///   - atOnce: maximum number of open requests.
    ///   - nonce: returns a nonce that was never used before.
    ///   - time: returns the time of day, for the expiry of requests.
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
        // An earlier run ended during these trials. Repeat them.
        for (id, device) in self.record.devices where device.phase == .trying {
            self.record.devices[id]?.phase = .staged
        }
    }

    public var wasConnected: Bool { kept.end != nil }

    /// True once the retained messages are complete and no device has pending work.
    public var isSettled: Bool { hasHeardKept && activities.isEmpty }

    /// True once every device is committed, undone or refused.
    public var isOver: Bool {
        record.devices.values.allSatisfy { device in
            switch device.phase {
            case .committed, .undone, .refused: true
            case .waiting, .staged, .trying: false
            }
        }
    }

    /// Number of devices in the change that are not known to be online.
    public var offline: Int { record.devices.keys.count { roster.devices[$0]?.isOnline != true } }

    /// Returns the record if it changed since the last call.
    public mutating func changedRecord() -> RolloutRecord? {
        defer { isChanged = false }
        return isChanged ? record : nil
    }

    // MARK: Events

    /// Starts to collect the retained messages. Call this when a connection is up.
    /// - Returns: subscriptions for this connection.
    public mutating func connected(at now: Instant) -> [Subscription] {
        kept.begin(at: now)
        hasHeardKept = false
        return [
            Subscription(topic: "\(prefix)/+/response/\(run)", wantsRetained: false),
            Subscription(topic: "\(prefix)/+/switch", wantsRetained: false),
        ] + roster.subscriptions
    }

    /// Queues unanswered requests again. Call this when the connection has ended.
    public mutating func lost() {
        questions = [:]
        for (id, activity) in activities {
            guard case .asked = activity else { continue }
            activities[id] = nil
            consider(id)
        }
    }

    /// Time at which ``tick(at:)`` is due; nil if nothing is pending.
    public var deadline: Instant? {
        [activities.isEmpty ? nil : lastLook.map { $0 + Self.look }, hasHeardKept ? nil : kept.end]
            .compactMap(\.self).min()
    }

    /// Handles timeouts and returns messages to publish.
    public mutating func tick(at now: Instant) -> [OutgoingMessage] {
        lastLook = now
        if !hasHeardKept, let end = kept.end, end <= now { heardKept() }
        for (id, activity) in activities {
            switch activity {
            case .asked(_, let until) where until <= now: fail(id, at: now)
            case .resting(let until) where until <= now:
                activities[id] = nil
                consider(id)
            case .trying(_, let until) where until <= now: endTrial(of: id, "unconfirmed")
            case .queued, .asked, .resting, .trying: break
            }
        }
        return askDevices(at: now)
    }

    /// Handles a message of the broker and returns messages to publish.
    public mutating func handle(_ message: IncomingMessage, at now: Instant) -> [OutgoingMessage] {
        if lastLook == nil { lastLook = now }
        kept.record(message, at: now)
        var messages: [OutgoingMessage] = []
        let ending = "/" + run
        if message.topic.hasSuffix(ending),
            let id = device(of: String(message.topic.dropLast(ending.count)), "response")
        {
            handleLine(message.payload, of: id, at: now, &messages)
        } else if let id = device(of: message.topic, "switch") {
            follow(message.payload, of: id, &messages)
        } else if let id = roster.record(message), keys[id] != nil {
            if message.topic.hasSuffix("/availability"), !message.isRetained { failures[id] = nil }
            if let list = roster.devices[id]?.backups { recordPhase(list, of: id) }
            consider(id)
        }
        return messages + askDevices(at: now)
    }

    /// Marks the retained messages as complete. If none arrived, asks all devices: some brokers send no retained
    /// messages to subscriptions with wildcards.
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

    // MARK: Plan

    /// Steps that a rollout would take, according to the retained messages.
    public struct Plan: Sendable, Equatable, Encodable {
        public enum Step: String, Sendable, Encodable, CaseIterable {
            case stage, drop, nothing, offline, unknown, notStored
        }

        public struct Entry: Sendable, Equatable, Encodable {
            public let step: Step
            public let devices: [String]
        }

        public let entries: [Entry]
    }

    public func plan(with roster: Roster) -> Plan {
        var rollout = self
        rollout.roster = roster
        for id in keys.keys { if let list = roster.devices[id]?.backups { rollout.recordPhase(list, of: id) } }
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

    // MARK: Requests

    private func step(of id: String) -> Step? {
        guard let device = record.devices[id], keys[id] != nil, failures[id] ?? 0 < Self.attempts else { return nil }
        switch (goal, device.phase) {
        case (_, .committed), (_, .undone), (_, .refused), (_, .trying): return nil
        case (.undo, .waiting), (.undo, .staged): return .drop
        case (.apply, .waiting): return .agree(nonce())
        // A reason means that a trial has failed.
        case (.apply, .staged): return change.confirmWithin == nil ? nil : device.reason == nil ? .attempt : .drop
        }
    }

    /// Queues the device if it is online and has a step to take.
    private mutating func consider(_ id: String) {
        guard activities[id] == nil, roster.devices[id]?.isOnline ?? asksUnknown, step(of: id) != nil else { return }
        activities[id] = .queued
        queue.append(id)
    }

    private mutating func askDevices(at now: Instant) -> [OutgoingMessage] {
        var messages: [OutgoingMessage] = []
        while questions.count < atOnce, position < queue.count {
            let id = queue[position]
            position += 1
            guard case .queued = activities[id] else { continue }
            activities[id] = nil
            if let step = step(of: id), let message = askDevice(step, id, at: now) { messages.append(message) }
        }
        if position == queue.count { (queue, position) = ([], 0) }
        return messages
    }

    private mutating func askDevice(_ step: Step, _ id: String, at now: Instant) -> OutgoingMessage? {
        let body: Request.Body
        switch step {
        case .agree(let nonce): body = .agreeKey(SealingKeyQuery(nonce: nonce))
        // `handleAnswer` sends `stage`, sealed with the key in the answer to `agree`.
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

    /// Returns a request with a proof by the device's key, so that the broker can neither alter nor replay it.
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
        // Below the device's own topics, so that the broker can keep devices from answering for each other.
        let topics = Topics(prefix: prefix, deviceId: id)
        return (
            name,
            OutgoingMessage(
                topic: topics.request, payload: line, responseTopic: topics.response + "/" + run, expiry: expiry)
        )
    }

    private func staged(of id: String) -> StagedPasswordStatus? {
        roster.devices[id]?.backups?.staged.last { $0.changeId == change.staging.changeId }
    }

    // MARK: Answers

    private mutating func handleLine(
        _ line: [UInt8], of id: String, at now: Instant, _ messages: inout [OutgoingMessage]
    ) {
        guard case .answer(let name?, let failure)? = try? ServerLine(line: line), questions[name] == id else { return }
        questions[name] = nil
        guard case .asked(let step, _) = activities[id] else { return }
        activities[id] = nil
        if let failure {
            handleError(failure, to: step, of: id, at: now)
        } else {
            do throws(ProtocolError) { try handleAnswer(line, to: step, of: id, at: now, &messages) } catch {
                refuse(id, error.code.rawValue)
            }
        }
        consider(id)
    }

    private mutating func handleError(_ error: ProtocolError, to step: Step, of id: String, at now: Instant) {
        switch step {
        // The device has already dropped the password, or never had it.
        case .drop where error.code == .unknownNetwork: record(id, .undone)
        case _ where error.code.kind == .tryLater || error.code.kind == .deviceFailure:
            fail(id, at: now)
        // The device is already in that network or cannot switch now. The next step is `drop`.
        case .attempt: endTrial(of: id, error.code.rawValue)
        case .agree, .stage, .drop: refuse(id, error.code.rawValue)
        }
    }

    private mutating func handleAnswer(
        _ line: [UInt8], to step: Step, of id: String, at now: Instant, _ messages: inout [OutgoingMessage]
    ) throws(ProtocolError) {
        failures[id] = nil
        switch step {
        case .agree(let nonce):
            let sealing = try ServerLine.body(SealingKey.self, of: line)
            guard let key = keys[id] else { return }
            // Without this proof, the broker or an attacker could have substituted a key.
            guard sealing.isProved(to: key, over: nonce) else { return refuse(id, "notTheDevice") }
            let body = try Request.Body.stagePassword(change.staging).sealed(with: sealing, for: key)
            if let message = send(body, .stage, id, at: now) { messages.append(message) }
        case .stage, .drop: recordPhase(try ServerLine.body(BackupList.self, of: line), of: id)
        case .attempt:
            let status = try ServerLine.body(SwitchStatus.self, of: line)
            let time = Self.joining + .seconds(change.confirmWithin ?? 0)
            activities[id] = .trying(switchId: status.switchId, until: now + time)
            record(id, .trying)
        }
    }

    private mutating func follow(_ payload: [UInt8], of id: String, _ messages: inout [OutgoingMessage]) {
        guard case .trying(let switchId, _) = activities[id],
            let status = try? Line.decode(SwitchStatus.self, from: payload),
            status.switchId == switchId
        else { return }
        switch status.phase {
        case .waitingForConfirmation:
            // The device sent this status over the new network, so the connection works. The answer to the confirmation
            // is ignored.
            let confirmation = message(
                .confirmSwitch(SwitchQuery(switchId: switchId)), to: id, until: .seconds(change.confirmWithin ?? 60))
            if let confirmation { messages.append(confirmation.message) }
        case .rolledBack, .failed: endTrial(of: id, status.reason?.rawValue ?? status.phase.rawValue)
        case .accepted, .joining, .waitingForAddress, .validating, .committed: break
        }
    }

    // MARK: Results

    private mutating func recordPhase(_ list: BackupList, of id: String) {
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

    private mutating func settle(_ id: String) {
        if case .trying = activities[id] { activities[id] = nil }
    }

    private mutating func endTrial(of id: String, _ reason: String) {
        activities[id] = nil
        record(id, .staged, reason)
        consider(id)
    }

    private mutating func refuse(_ id: String, _ reason: String) { record(id, .refused, reason) }

    /// Schedules another request after a pause. Skips the device after ``attempts`` failures in a row.
    private mutating func fail(_ id: String, at now: Instant) {
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
