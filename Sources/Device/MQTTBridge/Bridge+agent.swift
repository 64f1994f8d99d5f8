import AgentModel
import AppProtocol

/// State of the connection to the agent, which answers requests in order.
struct AgentSide: Sendable {
    enum Phase: Sendable, Equatable {
        case waiting(until: Instant)
        case connecting
        case up
    }

    enum Pending: Sendable {
        case capabilities, network, backups, subscription
        case caller(Caller)
    }

    struct Caller: Sendable {
        let id: String
        /// Topic for the answer; nil for Home Assistant, which does not expect an answer.
        let topic: String?
        let correlation: [UInt8]?
        let type: MessageType

        var isRemembered: Bool { topic != nil && type.isCommand }
    }

    var phase = Phase.waiting(until: Instant(milliseconds: .min))
    var pending: [Pending] = []
    var awaySince: Instant?
    private var backOff: Reconnection
    /// Run of the agent that sends the events; nil until known.
    var stream: String?
    /// Number of the last event of that run; nil until known.
    var lastEvent: Int?

    init(seed: UInt64) { backOff = Reconnection(spread: .seconds(1), longest: .seconds(30), seed: seed ^ 1) }

    var deadline: Instant? {
        var deadlines: [Instant] = []
        if case .waiting(let until) = phase { deadlines.append(until) }
        if let awaySince, !isReported { deadlines.append(awaySince + BridgeLimits.agentAway) }
        return deadlines.min()
    }

    /// Whether the bridge has already reported the device as offline because the agent is absent.
    var isReported = false

    func isAway(at now: Instant) -> Bool { awaySince.map { now >= $0 + BridgeLimits.agentAway } ?? false }

    var callers: Int { pending.count { if case .caller = $0 { true } else { false } } }

    mutating func lost(at now: Instant) {
        pending = []
        if awaySince == nil { (awaySince, isReported) = (now, false) }
        phase = .waiting(until: now + backOff.wait(after: .unreachable))
    }

    mutating func answers() {
        (awaySince, isReported) = (nil, false)
        backOff.succeeded()
    }
}

extension Bridge {
    mutating func greetAgent(_ effects: inout [Effect]) {
        agent.phase = .up
        agent.pending = []
        askAgent(.capabilities, .device(.getCapabilities), &effects)
        let known =
            agent.stream == nil ? EventSubscription() : EventSubscription(since: agent.lastEvent, stream: agent.stream)
        askAgent(.subscription, .subscribe(known), &effects)
        askAgent(.network, .device(.getNetwork), &effects)
        askAgent(.backups, .device(.getBackups), &effects)
    }

    private mutating func askAgent(_ pending: AgentSide.Pending, _ content: Request.Content, _ effects: inout [Effect])
    {
        guard agent.phase == .up else { return }
        // The bridge publishes the answers, so it requests with the role of their readers.
        put(Request(id: "altnet-mqtt", content: content, relay: .see), pending, &effects)
    }

    /// - Returns: false if the request cannot be encoded.
    @discardableResult
    mutating func put(_ request: Request, _ pending: AgentSide.Pending, _ effects: inout [Effect]) -> Bool {
        guard let line = try? request.line() else {
            report(.defect, "bug: a request cannot be encoded", &effects)
            return false
        }
        agent.pending.append(pending)
        effects.append(.sendToAgent(line))
        return true
    }

    mutating func lostAgent(_ reason: String, _ moment: Moment, _ effects: inout [Effect]) {
        if case .waiting = agent.phase { return }
        for case .caller(let caller) in agent.pending {
            let error = ProtocolError(
                .busy, "the agent stopped, the request may have been carried out: read the state before you repeat it")
            let line = Response(id: caller.id, result: .failure(error)).line()
            if caller.isRemembered { ledger.recordAnswer(caller.id, line) }
            answer(caller, line, moment)
        }
        agent.lost(at: moment.now)
        report(.agentAway, "no connection to the agent: \(reason)", &effects)
    }

    mutating func checkAgent(_ moment: Moment, _ effects: inout [Effect]) {
        if agent.isAway(at: moment.now) { agent.isReported = true }
        if case .waiting(let until) = agent.phase, until <= moment.now {
            agent.phase = .connecting
            effects.append(.connectAgent)
        }
    }

    mutating func read(_ line: [UInt8], _ moment: Moment, _ effects: inout [Effect]) {
        guard agent.phase == .up else { return }
        do {
            switch try ServerLine(line: line) {
            case .event(let event): follow(event, moment, &effects)
            case .answer(_, let failure): try handleAgentLine(line, failure, moment, &effects)
            case .unknown: break
            }
        } catch {
            // After a malformed line, later answers cannot be assigned to requests.
            report(.agentSpeech, "malformed line from the agent: \(error)", &effects)
            effects.append(.disconnectAgent)
            lostAgent("it sent a malformed line", moment, &effects)
        }
    }

    private mutating func handleAgentLine(
        _ line: [UInt8], _ failure: ProtocolError?, _ moment: Moment, _ effects: inout [Effect]
    ) throws(ProtocolError) {
        guard !agent.pending.isEmpty else {
            throw ProtocolError(.malformed, "the agent has sent an answer without a request")
        }
        let pending = agent.pending.removeFirst()
        if case .caller(let caller) = pending {
            if caller.isRemembered { ledger.recordAnswer(caller.id, line) }
            if caller.topic == nil, let failure {
                effects.append(.log("Home Assistant's \(caller.type.rawValue): \(failure)"))
            }
            return answer(caller, line, moment)
        }
        if let failure {
            // This run of the agent may not have reached the number yet: subscribe without it.
            if case .subscription = pending, agent.stream != nil {
                (agent.stream, agent.lastEvent) = (nil, nil)
                return askAgent(.subscription, .subscribe(EventSubscription()), &effects)
            }
            throw failure
        }
        switch pending {
        case .capabilities: learn(try ServerLine.body(Capabilities.self, of: line), moment, &effects)
        case .network: recordNetwork(try ServerLine.body(NetworkStatus.self, of: line), moment, &effects)
        case .backups:
            device.learn(try ServerLine.body(BackupList.self, of: line))
            agent.answers()
            forget([.agentAway, .agentSpeech])
        case .subscription:
            let subscribed = try ServerLine.body(Subscribed.self, of: line)
            if agent.stream != subscribed.stream { agent.lastEvent = nil }
            agent.stream = subscribed.stream
            if agent.lastEvent == nil { agent.lastEvent = subscribed.seq }
        case .caller: break
        }
    }

    private mutating func learn(_ capabilities: Capabilities, _ moment: Moment, _ effects: inout [Effect]) {
        if let known = device.capabilities, known.deviceId != capabilities.deviceId {
            // After a factory reset the device has another ID and counts as another device.
            queue.forgetKept()
            device = DeviceKnowledge()
            reconnect("the device id has changed", in: .zero, moment, &effects)
        }
        device.learn(capabilities, Topics(prefix: settings.prefix, deviceId: capabilities.deviceId))
    }

    private mutating func follow(_ event: AppProtocol.Event, _ moment: Moment, _ effects: inout [Effect]) {
        agent.lastEvent = event.seq
        guard let topics = device.topics else { return }
        switch event.body {
        case .networkChanged(let network): recordNetwork(network, moment, &effects)
        case .signal(let reading): device.record(reading)
        case .backupsChanged(let list): device.learn(list)
        case .decision(let decision):
            device.record(decision)
            publish(topics.decision, decision, &effects)
        case .switchProgress(let status): publish(topics.switchProgress, status, &effects)
        case .scanFinished(let scan): publish(topics.scan, scan, &effects)
        case .gap:
            askAgent(.network, .device(.getNetwork), &effects)
            askAgent(.backups, .device(.getBackups), &effects)
        case .targetChanged, .portalRequest, .portalEnded: break
        }
    }

    /// Records the new network state. Reconnects to the broker if the path to the broker may have changed.
    private mutating func recordNetwork(_ network: NetworkStatus, _ moment: Moment, _ effects: inout [Effect]) {
        let before = device.network
        let outLength = device.outages.length(at: moment.now)
        let outage = device.record(network, moment)
        if let outage, let topics = device.topics { publish(topics.outage, outage, &effects) }
        if case .up(var session) = broker.phase, let address = session.localAddress,
            [before, network].contains(where: { $0?.addresses.contains(address) == true })
        {
            session.isOfNetwork = true
            broker.phase = .up(session)
        }
        guard network.uplink != nil else { return }
        if case .up(let session) = broker.phase {
            // Reconnect if the connection's local address is gone. During a move the device has no address.
            if network.carriedBy == .wifi, let address = session.localAddress, session.isOfNetwork,
                !network.addresses.contains(address), !network.addresses.isEmpty
            {
                broker.reconnection.moved()
                reconnect("the device has switched networks", in: .zero, moment, &effects)
            }
        } else if before?.uplink == nil || before?.ssid != network.ssid || outage != nil {
            // After an outage, other devices may return at the same moment. After a move, this device returns alone.
            let isMove = outLength.map { $0 < OutageLog.shortest } ?? true
            guard before != nil else { return }
            if isMove { broker.reconnection.moved() }
            let wait = isMove ? .zero : broker.reconnection.waitAfterOutage()
            reconnect("the network is available", in: wait, moment, &effects)
        }
    }
}
