import AgentModel
import AppProtocol

extension Bridge {
    mutating func receive(_ message: IncomingMessage, _ moment: Moment, _ effects: inout [Effect]) {
        guard case .up = broker.phase, let topics = device.topics else { return }
        if message.topic == topics.request, settings.role != nil {
            perform(message, topics, moment, &effects)
        } else if settings.role != nil, let id = topics.tunnel(ofUp: message.topic) {
            guard !message.isRetained else { return }
            perform(tunnels.receive(message.payload, of: id, at: moment.now), moment, &effects)
        } else if message.topic == topics.firmware {
            device.recordLatest(Self.version(message.payload))
        } else if settings.discoveryPrefix != nil, message.topic == topics.homeAssistant {
            performForHomeAssistant(message, moment, &effects)
        } else if let prefix = settings.discoveryPrefix, message.topic == Topics.birth(prefix) {
            greetHomeAssistant(message, prefix)
        } else {
            let topic = String(message.topic.prefix(80)).printable
            report(.strangeTopic, "ignoring a message on a topic without subscription: \(topic)", &effects)
        }
    }

    private static let retainedCommand =
        "refusing a retained request, which the broker would repeat: send it without retain"

    /// - Returns: nil unless the payload is 1 to 64 printable ASCII characters without blanks.
    private static func version(_ payload: [UInt8]) -> String? {
        guard (1...64).contains(payload.count), payload.allSatisfy({ (0x21...0x7e).contains($0) }) else { return nil }
        return String(decoding: payload, as: UTF8.self)
    }

    // MARK: Requests

    private mutating func perform(
        _ message: IncomingMessage, _ topics: Topics, _ moment: Moment, _ effects: inout [Effect]
    ) {
        var topic = topics.response
        if let wanted = message.responseTopic, topics.mayAnswer(to: wanted, discoveryPrefix: settings.discoveryPrefix) {
            topic = wanted
        }
        let correlation = message.correlation.flatMap { $0.count <= BridgeLimits.correlation ? $0 : nil }
        func refuse(_ id: String?, _ error: ProtocolError) {
            answer(to: topic, correlation, Response(id: id, result: .failure(error)).line(), moment)
        }
        // Check the rate before parsing, so that a flood of requests costs little.
        let delay = commandRate.delay(at: moment.now)
        guard delay == .zero else {
            return refuse(
                nil,
                ProtocolError(
                    .tooManyRequests, "too many requests: at most 10 a second",
                    details: ["retryAfterMs": .number(Int(delay.milliseconds))]))
        }
        commandRate.consume()
        let request: Request
        do throws(RejectedRequest) {
            request = try Request(line: message.payload)
        } catch {
            return refuse(error.id, error.error)
        }
        if message.isRetained {
            report(.retainedCommand, Self.retainedCommand, &effects)
            return refuse(
                request.id, .at("retain", "is set: the broker would repeat a retained command, send it without retain"))
        }
        do throws(ProtocolError) {
            let permitted = try permitted(request)
            let type = permitted.body.type
            if type.isCommand {
                try checkExpiry(message, permitted.expires, moment, &effects)
                if case .known(let answer) = ledger.find(request.id) {
                    guard let answer else {
                        throw .at("id", "was used by an earlier command: read the state")
                    }
                    return self.answer(to: topic, correlation, answer, moment)
                }
            }
            guard agent.phase == .up else { throw ProtocolError(.busy, "the agent does not answer: try again later") }
            guard agent.callers < BridgeLimits.pendingRequests else {
                throw ProtocolError(.busy, "\(BridgeLimits.pendingRequests) requests are already waiting")
            }
            if type.isCommand {
                ledger.add(request.id)
                effects.append(.remember(ledger.ids))
            }
            let caller = AgentSide.Caller(id: request.id, topic: topic, correlation: correlation, type: type)
            let relayed = Request(id: request.id, content: request.content, relay: settings.role)
            if !put(relayed, .caller(caller), &effects) { ledger.forget(request.id) }
        } catch {
            refuse(request.id, error)
        }
    }

    private struct Permitted {
        let body: Request.Body
        /// Expiry of the command, as given by its author; nil if not given.
        let expires: Timestamp?
    }

    /// Checks the role of the relay. The agent checks the role again, and the proof.
    private func permitted(_ request: Request) throws(ProtocolError) -> Permitted {
        let permitted: Permitted
        var isProved = false
        switch request.content {
        case .device(let body): permitted = Permitted(body: body, expires: request.expires)
        case .prove(let proved):
            let (body, id, expires) = try proved.request()
            guard id == request.id else { throw .at("body.line", "has an id other than the request's") }
            (permitted, isProved) = (Permitted(body: body, expires: expires), true)
        case .subscribe:
            throw ProtocolError(
                .unsupported, "subscribe is not available over a broker: read the topics of the events",
                details: ["field": "type"])
        case .open:
            throw ProtocolError(
                .unsupported, "open is not available over a broker: send the request itself",
                details: ["field": "type"])
        }
        if let refusal = permitted.body.refusal(toRelayOf: settings.role, isProved: isProved) { throw refusal }
        return permitted
    }

    /// Requires an expiry, because brokers queue commands while the device is away.
    private mutating func checkExpiry(
        _ message: IncomingMessage, _ expires: Timestamp?, _ moment: Moment, _ effects: inout [Effect]
    ) throws(ProtocolError) {
        guard message.expiry != nil || expires != nil else {
            throw .at("expires", "is missing: a command needs it, or a message expiry interval")
        }
        if let expiry = message.expiry {
            guard expiry > .zero else { throw .at("expires", "is in the past: the command is not carried out") }
            guard expiry <= BridgeLimits.longestExpiry else { throw .at("expires", "is more than a day ahead") }
        }
        // Use only the message expiry interval while the device does not know the time.
        if let expires, moment.time != nil || message.expiry == nil { try checkExpiry(expires, moment, &effects) }
    }

    private mutating func checkExpiry(
        _ expires: Timestamp, _ moment: Moment, _ effects: inout [Effect]
    ) throws(ProtocolError) {
        guard let time = moment.time else {
            report(
                .clockUnknown,
                "refusing a command, its expiry cannot be checked: the device's clock is not set",
                &effects)
            throw ProtocolError(
                .unsupported, "the device's clock is not set: send the command with a message expiry interval",
                details: ["field": "expires"])
        }
        forget([.clockUnknown])
        guard time < expires else { throw .at("expires", "is in the past: the command is not carried out") }
        let left = expires.millisecondsSince1970 - time.millisecondsSince1970
        guard left <= BridgeLimits.longestExpiry.milliseconds else { throw .at("expires", "is more than a day ahead") }
    }

    mutating func answer(_ caller: AgentSide.Caller, _ line: [UInt8], _ moment: Moment) {
        guard let topic = caller.topic else { return }
        answer(to: topic, caller.correlation, line, moment)
    }

    private mutating func answer(to topic: String, _ correlation: [UInt8]?, _ line: [UInt8], _ moment: Moment) {
        queue.add(
            OutgoingMessage(topic: topic, payload: line, correlation: correlation),
            until: moment.now + BridgeLimits.answerLife)
    }

    // MARK: Tunnels

    mutating func perform(_ tunnelEffects: [DeviceTunnels.Effect], _ moment: Moment, _ effects: inout [Effect]) {
        for effect in tunnelEffects {
            switch effect {
            case .connect(let id): effects.append(.connectTunnel(id))
            case .write(let id, let bytes): effects.append(.sendToTunnel(id, bytes))
            case .disconnect(let id): effects.append(.disconnectTunnel(id))
            case .publish(let id, let payload):
                guard let topics = device.topics else { continue }
                queue.add(
                    .tunnel(topics.tunnelDown(id), payload), until: moment.now + BridgeLimits.tunnelExpiry)
            }
        }
    }

    // MARK: Home Assistant

    /// Publishes the retained messages again after a start of Home Assistant.
    private mutating func greetHomeAssistant(_ message: IncomingMessage, _ prefix: String) {
        guard message.payload == Self.online, let topics = device.topics, let id = device.capabilities?.deviceId else {
            return
        }
        for topic in [Topics.discovery(prefix, deviceId: id)] + topics.retained { queue.repeatKept(topic) }
    }

    private mutating func performForHomeAssistant(
        _ message: IncomingMessage, _ moment: Moment, _ effects: inout [Effect]
    ) {
        guard commandRate.delay(at: moment.now) == .zero else { return }
        commandRate.consume()
        guard !message.isRetained else {
            return report(.retainedCommand, Self.retainedCommand, &effects)
        }
        do throws(ProtocolError) {
            guard message.payload.count <= 1024 else { throw .at("", "is longer than 1024 bytes") }
            // A broker that missed the acknowledgement sends the same bytes again.
            let id = Self.homeAssistantID(message.payload)
            guard ledger.find(id) == .new else { return }
            let command = try Line.decode(HomeAssistantCommand.self, from: message.payload)
            guard (0...253_402_300_799).contains(command.expires) else { throw .at("expires", "is not a time") }
            if moment.time != nil || !broker.isFresh {
                try checkExpiry(
                    Timestamp(millisecondsSince1970: Int64(command.expires) * 1000), moment, &effects)
            }
            try perform(command, id, &effects)
        } catch {
            effects.append(.log("Home Assistant's command failed: \(error)"))
        }
    }

    /// Returns an ID made from the bytes of the command (FNV-1a), because Home Assistant's commands have no ID.
    private static func homeAssistantID(_ payload: [UInt8]) -> String {
        let hash = payload.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return "home-assistant-" + String(hash, radix: 16)
    }

    private mutating func perform(
        _ command: HomeAssistantCommand, _ id: String, _ effects: inout [Effect]
    ) throws(ProtocolError) {
        let body: Request.Body
        switch command.action {
        case .identify:
            guard settings.role != nil else {
                throw ProtocolError(
                    .notPermitted, "the settings do not permit commands over the broker (ALTNET_MQTT_COMMANDS)")
            }
            return effects.append(.identify)
        case .scan: body = .startScan(ScanRequest())
        case .home:
            guard let home = device.backups?.home ?? device.backups?.chosen else {
                throw ProtocolError(.unknownNetwork, "the device has no home network")
            }
            body = .switchNetwork(SwitchRequest(target: .stored(home.hash), besideUplink: true))
        case .switch:
            guard let name = command.network, let choice = device.choices.first(where: { $0.name == name }) else {
                throw ProtocolError(.unknownNetwork, "no stored network has this name")
            }
            body = .switchNetwork(SwitchRequest(target: .stored(choice.hash), besideUplink: true))
        }
        let request = Request(id: id, content: .device(body), relay: settings.role)
        _ = try permitted(request)
        guard agent.phase == .up, agent.callers < BridgeLimits.pendingRequests else {
            throw ProtocolError(.busy, "the agent does not answer: try again later")
        }
        ledger.add(id)
        effects.append(.remember(ledger.ids))
        put(
            request, .caller(AgentSide.Caller(id: request.id, topic: nil, correlation: nil, type: body.type)), &effects)
    }
}

extension ProtocolError {
    fileprivate static func at(_ field: String, _ problem: String) -> ProtocolError {
        ProtocolError(
            .malformed, field.isEmpty ? "the message \(problem)" : "\(field) \(problem)",
            details: field.isEmpty ? [:] : ["field": .text(field)])
    }
}
