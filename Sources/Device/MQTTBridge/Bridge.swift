import AgentModel
import AppProtocol

/// Connects a device's agent with an MQTT 5 broker. A value without a clock or I/O: events go in, effects come out. All
/// randomness comes from the seed.
///
/// ```
///              connect                  accepted
///   waiting ------------> connecting ------------> up
///      ^                       |                   |
///      +------ failed ---------+------ lost -------+--- stop ---> leaving ---> over
/// ```
public struct Bridge: Sendable {
    public struct Moment: Sendable, Equatable {
        /// Monotonic time, used for all timers.
        public var now: Instant
        /// Time of day; nil while the device's clock is not known to be right.
        public var time: Timestamp?

        public init(_ now: Instant, time: Timestamp?) { (self.now, self.time) = (now, time) }
    }

    public enum Event: Sendable, Equatable {
        case agentConnected
        /// A line of the app protocol, without line feed.
        case agentSaid([UInt8])
        case agentLost(String)
        case brokerAccepted(BrokerSession)
        /// The attempt failed or the connection ended.
        case brokerFailed(BrokerFailure)
        case acknowledged(Int)
        /// Number of the message and the broker's reason.
        case publishRefused(Int, String)
        case subscriptionRefused(String)
        case message(IncomingMessage)
        /// The agent's bytes for the app of a tunnel.
        case tunnelSaid(String, [UInt8])
        /// The agent has closed the connection of a tunnel, or it failed.
        case tunnelEnded(String)
        case tick
        case stop
    }

    public enum Effect: Sendable, Equatable {
        case connectAgent
        case disconnectAgent
        /// Send a line without line feed to the agent.
        case sendToAgent([UInt8])
        case connectBroker(BrokerHello)
        /// Disconnect from the broker. With a goodbye, the broker discards the will. Otherwise the connection is just
        /// dropped.
        case disconnectBroker(isGoodbye: Bool)
        case subscribe([Subscription])
        case publish(Int, OutgoingMessage)
        /// Store the IDs of the last commands before any later effect is performed.
        case remember([String])
        case identify
        /// Connect to the agent's port for apps.
        case connectTunnel(String)
        case sendToTunnel(String, [UInt8])
        case disconnectTunnel(String)
        /// Write one line without secrets to the log.
        case log(String)
        case over
    }

    public enum Purpose: Sendable, Equatable {
        case serve
        /// Remove everything that the broker and Home Assistant retain about the device, then end.
        case remove
    }

    let settings: BridgeSettings
    private let purpose: Purpose
    var agent: AgentSide
    var broker: BrokerSide
    var device = DeviceKnowledge()
    var queue = MessageQueue()
    var ledger: CommandLedger
    var tunnels = DeviceTunnels()
    var commandRate = TokenBucket(10, per: .seconds(1), burst: 20)
    private var reported: Set<Complaint> = []

    /// - Parameters:
    ///   - seed: seed of the random waits, different for each device.
    ///   - ids: command IDs of the last ``Effect/remember(_:)``.
    public init(_ settings: BridgeSettings, purpose: Purpose = .serve, seed: UInt64, remembered ids: [String] = []) {
        self.settings = settings
        self.purpose = purpose
        agent = AgentSide(seed: seed)
        broker = BrokerSide(settings, seed: seed)
        ledger = CommandLedger(ids: ids)
    }

    public var isConnected: Bool { if case .up = broker.phase { true } else { false } }
    /// Whether the bridge takes the agent's bytes for apps. While false, they stay in the kernel.
    public var readsTunnels: Bool {
        isConnected && queue.bytes < BridgeLimits.tunnelBacklog && queue.waitingEvents < BridgeLimits.queuedMessages / 4
    }
    public var waitingMessages: Int { queue.waitingEvents }
    /// Number of messages dropped since the start, for lack of room or because of their size.
    public var lostMessages: Int { queue.lost }

    /// Returns the first effects. Call this once, before ``handle(_:at:)``.
    public mutating func start(at moment: Moment) -> [Effect] {
        var effects: [Effect] = [.connectAgent]
        agent.phase = .connecting
        agent.awaySince = moment.now
        settle(moment, &effects)
        return effects
    }

    public var deadline: Instant? {
        // Do not connect before the agent has sent the device's ID.
        var deadlines = [agent.deadline, hello == nil ? nil : broker.deadline].compactMap { $0 }
        if let flight = queue.oldestFlight, isConnected { deadlines.append(flight + BridgeLimits.acknowledging) }
        if let midnight = device.midnight { deadlines.append(midnight) }
        if let repetition = device.repetition, isConnected { deadlines.append(repetition) }
        if let signal = device.heldSignal { deadlines.append(signal.due) }
        if let idle = tunnels.deadline { deadlines.append(idle) }
        return deadlines.min()
    }

    public mutating func handle(_ event: Event, at moment: Moment) -> [Effect] {
        var effects: [Effect] = []
        guard broker.phase != .over else { return [] }
        switch event {
        case .agentConnected: greetAgent(&effects)
        case .agentSaid(let line): read(line, moment, &effects)
        case .agentLost(let reason): lostAgent(reason, moment, &effects)
        case .brokerAccepted(let session): accepted(session, moment, &effects)
        case .brokerFailed(let failure): failed(failure, moment, &effects)
        case .acknowledged(let number): _ = queue.acknowledged(number)
        case .publishRefused(let number, let reason):
            if queue.acknowledged(number) {
                report(.publishRefused, "the broker refused a message: \(reason)", &effects)
            }
        case .subscriptionRefused(let reason):
            report(.subscriptionRefused, "the broker refused a subscription: \(reason)", &effects)
        case .message(let message): receive(message, moment, &effects)
        case .tunnelSaid(let id, let bytes): perform(tunnels.send(bytes, of: id), moment, &effects)
        case .tunnelEnded(let id): perform(tunnels.agentClosed(id), moment, &effects)
        case .tick: break
        case .stop: stop(moment, &effects)
        }
        settle(moment, &effects)
        return effects
    }

    /// Runs due timers and composes new messages.
    private mutating func settle(_ moment: Moment, _ effects: inout [Effect]) {
        checkAgent(moment, &effects)
        perform(tunnels.tick(at: moment.now), moment, &effects)
        compose(moment, &effects)
        checkBroker(moment, &effects)
        flush(moment, &effects)
    }

    // MARK: The broker

    private mutating func accepted(_ session: BrokerSession, _ moment: Moment, _ effects: inout [Effect]) {
        guard case .connecting = broker.phase, let topics = device.topics else { return }
        broker.phase = .up(session)
        broker.upSince = moment.now
        forget([.refused, .takenOver])
        queue.connected(isPresent: session.isPresent)
        if broker.shortLived == 0 {
            effects.append(.log("connected to the broker\(session.isPresent ? ", session resumed" : "")"))
        }
        if !session.keepsMessages {
            report(.keepsNothing, "the broker does not retain messages: later clients miss the state", &effects)
        }
        guard purpose == .serve else { return }
        var subscriptions: [Subscription] = []
        if settings.role != nil {
            subscriptions += [
                Subscription(topic: topics.request, wantsRetained: false),
                Subscription(topic: topics.tunnelUp("+"), wantsRetained: false),
            ]
        }
        if let prefix = settings.discoveryPrefix {
            subscriptions += [
                Subscription(topic: topics.homeAssistant, wantsRetained: false),
                Subscription(topic: Topics.birth(prefix), wantsRetained: false),
            ]
        }
        subscriptions.append(Subscription(topic: topics.firmware, wantsRetained: true))
        effects.append(.subscribe(subscriptions))
        // Always repeat the availability: the will may have set it to offline.
        queue.repeatKept(topics.availability)
    }

    private mutating func failed(_ failure: BrokerFailure, _ moment: Moment, _ effects: inout [Effect]) {
        switch broker.phase {
        case .leaving: return finish(&effects)
        case .over, .waiting: return
        case .connecting, .up: break
        }
        queue.disconnected()
        // Keep the waits after a short connection: two clients with the same ID would replace each other again and
        // again.
        if let since = broker.upSince {
            if since + BridgeLimits.lasting <= moment.now {
                broker.shortLived = 0
                broker.reconnection.succeeded()
                forget([.shortLived, .unreachable])
            } else {
                broker.shortLived += 1
            }
            if broker.shortLived == 3 { report(.shortLived, Self.shortLived, &effects) }
        }
        broker.upSince = nil
        let wait = broker.reconnection.wait(after: failure.kind)
        broker.phase = .waiting(until: moment.now + wait)
        let complaint: Complaint =
            switch failure.kind {
            case .unreachable: .unreachable
            case .refused: .refused
            case .takenOver: .takenOver
            }
        report(complaint, "\(failure.text); the next attempt is within \(wait.components.seconds + 1) s", &effects)
    }

    /// Report of repeated short connections. mosquitto 2.0 does not report that another client has taken over.
    private static let shortLived =
        "the broker keeps dropping the connection: check whether another client has the same client ID"

    /// Drops a useless connection and schedules another one.
    mutating func reconnect(_ reason: String, in wait: Duration, _ moment: Moment, _ effects: inout [Effect]) {
        switch broker.phase {
        case .up, .connecting:
            effects += [.log("\(reason): reconnecting"), .disconnectBroker(isGoodbye: false)]
            queue.disconnected()
            broker.upSince = nil
            broker.phase = .waiting(until: moment.now + wait)
        case .waiting:
            // Keep the wait while another client has the client ID or the broker refuses the device.
            guard !reported.contains(.takenOver), !reported.contains(.refused) else { return }
            // Replace the earlier wait, even by a longer one: otherwise too many devices of a fleet would reconnect at
            // once.
            broker.phase = .waiting(until: moment.now + wait)
        case .leaving, .over: break
        }
    }

    private mutating func checkBroker(_ moment: Moment, _ effects: inout [Effect]) {
        if isConnected, let flight = queue.oldestFlight, flight + BridgeLimits.acknowledging <= moment.now {
            effects.append(.disconnectBroker(isGoodbye: false))
            failed(BrokerFailure(.unreachable, "the broker does not acknowledge messages"), moment, &effects)
        }
        switch broker.phase {
        case .waiting(let until):
            guard until <= moment.now, let hello else { return }
            broker.phase = .connecting(until: moment.now + BridgeLimits.connecting)
            effects.append(.connectBroker(hello))
        case .connecting(let until):
            guard until <= moment.now else { return }
            effects.append(.disconnectBroker(isGoodbye: false))
            failed(BrokerFailure(.unreachable, "the broker does not answer"), moment, &effects)
        case .leaving(let until):
            if until <= moment.now || queue.isEmpty {
                effects.append(.disconnectBroker(isGoodbye: true))
                finish(&effects)
            }
        case .up:
            guard purpose == .remove, queue.isEmpty else { return }
            effects.append(.disconnectBroker(isGoodbye: true))
            finish(&effects)
        case .over: break
        }
    }

    /// Content of the CONNECT packet; nil until the device's ID is known.
    private var hello: BrokerHello? {
        guard let topics = device.topics, let id = device.capabilities?.deviceId else { return nil }
        return BrokerHello(
            clientID: settings.clientID ?? "altnet-" + id, keepAlive: settings.keepAlive,
            sessionExpiry: settings.announcedSessionExpiry, maximumPacket: BridgeLimits.packet,
            receiveMaximum: BridgeLimits.inFlight,
            will: OutgoingMessage(topic: topics.availability, payload: Self.offline, isRetained: true),
            willDelay: settings.willDelay)
    }

    static let online = Array("online".utf8)
    static let offline = Array("offline".utf8)

    private mutating func stop(_ moment: Moment, _ effects: inout [Effect]) {
        guard case .up = broker.phase, let topics = device.topics, purpose == .serve else {
            effects.append(.disconnectBroker(isGoodbye: true))
            return finish(&effects)
        }
        broker.phase = .leaving(until: moment.now + BridgeLimits.leaving)
        queue.keep(OutgoingMessage(topic: topics.availability, payload: Self.offline, isRetained: true))
        queue.repeatKept(topics.availability)
    }

    private mutating func finish(_ effects: inout [Effect]) {
        broker.phase = .over
        effects += [.disconnectAgent, .over]
    }

    // MARK: Messages

    private mutating func compose(_ moment: Moment, _ effects: inout [Effect]) {
        guard let topics = device.topics else { return }
        if case .leaving = broker.phase { return }
        // Report losses only while connected.
        if isConnected { device.record(lost: queue.lost) }
        func retained(_ topic: String, _ payload: [UInt8], _ isAcknowledged: Bool = true) -> OutgoingMessage {
            OutgoingMessage(topic: topic, payload: payload, isAcknowledged: isAcknowledged, isRetained: true)
        }
        guard purpose == .serve else {
            let discovery = Topics.discovery(
                settings.discoveryPrefix ?? "homeassistant", deviceId: device.capabilities?.deviceId ?? "")
            for topic in [discovery] + topics.retained { queue.keep(retained(topic, [])) }
            return
        }
        guard device.isKnown else { return }
        do {
            // Publish the discovery message first, so that Home Assistant has entities for the states that follow.
            if let prefix = settings.discoveryPrefix, device.isDiscoveryDue, let capabilities = device.capabilities {
                device.isDiscoveryDue = false
                let message = HomeAssistantDevice(
                    topics: topics, deviceId: capabilities.deviceId, name: device.network?.deviceName,
                    firmware: capabilities.firmware, hardwareAddresses: settings.hardwareAddresses,
                    page: settings.pagePort.flatMap { device.pageAddress(port: $0) },
                    networks: device.choices.map(\.name))
                queue.keep(
                    retained(Topics.discovery(prefix, deviceId: capabilities.deviceId), try message.message()))
            }
            queue.keep(retained(topics.availability, agent.isAway(at: moment.now) ? Self.offline : Self.online))
            if device.isBackupsDue, let backups = device.backups {
                device.isBackupsDue = false
                queue.keep(retained(topics.backups, try OutsideJSON.encode(backups)))
            }
            if device.isStatusDue(at: moment), let status = device.status(moment) {
                queue.keep(retained(topics.status, try OutsideJSON.encode(status)))
            }
            if let signal = device.nextSignal(at: moment.now, interval: settings.signalInterval) {
                queue.keep(retained(topics.signal, try OutsideJSON.encode(signal), false))
            }
        } catch {
            report(.defect, "bug: a message cannot be encoded", &effects)
        }
    }

    mutating func publish(
        _ topic: String, _ body: some Encodable, _ effects: inout [Effect]
    ) {
        do {
            queue.add(OutgoingMessage(topic: topic, payload: try OutsideJSON.encode(body)))
        } catch {
            report(.defect, "bug: a message cannot be encoded", &effects)
        }
    }

    private mutating func flush(_ moment: Moment, _ effects: inout [Effect]) {
        let session: BrokerSession
        switch broker.phase {
        case .up(let present): session = present
        case .leaving: session = BrokerSession(isPresent: true)
        case .waiting, .connecting, .over: return
        }
        let window = max(1, min(BridgeLimits.inFlight, session.receiveMaximum ?? BridgeLimits.inFlight))
        // Leave 64 bytes for the fixed header, lengths and properties.
        let largest = max(0, (session.maximumPacket ?? BridgeLimits.packet) - 64)
        let lost = queue.lost
        for (number, message) in queue.dequeue(at: moment.now, window: window, largest: largest) {
            var message = message
            if !session.keepsMessages { message.isRetained = false }
            let waits = message.isAcknowledged
            if !session.acknowledges { message.isAcknowledged = false }
            effects.append(.publish(number, message))
            // Without QoS 1 the broker does not acknowledge: count the message as delivered.
            if waits, !message.isAcknowledged { _ = queue.acknowledged(number) }
        }
        if queue.lost > lost {
            report(.tooLarge, "a message was dropped: it is larger than the broker accepts", &effects)
        }
    }

    // MARK: The log

    /// Problems that are logged once until they end.
    enum Complaint: Hashable {
        case unreachable, refused, takenOver, shortLived, keepsNothing, tooLarge, defect
        case publishRefused, subscriptionRefused
        case agentAway, agentSpeech
        case retainedCommand, strangeTopic, clockUnknown
    }

    mutating func report(_ complaint: Complaint, _ text: String, _ effects: inout [Effect]) {
        if reported.insert(complaint).inserted { effects.append(.log(text)) }
    }

    mutating func forget(_ complaints: [Complaint]) { reported.subtract(complaints) }
}

struct BrokerSide: Sendable {
    enum Phase: Sendable, Equatable {
        case waiting(until: Instant)
        case connecting(until: Instant)
        case up(BrokerSession)
        /// The bridge publishes the remaining messages, then ends.
        case leaving(until: Instant)
        case over
    }

    /// Phase of the connection. The first attempt starts as soon as the device's ID is known.
    var phase = Phase.waiting(until: Instant(milliseconds: .min))
    var reconnection: Reconnection
    /// Start of the current connection.
    var upSince: Instant?
    var shortLived = 0

    init(_ settings: BridgeSettings, seed: UInt64) {
        reconnection = Reconnection(spread: settings.spread, longest: settings.longestWait, seed: seed)
    }

    /// True if the broker has not kept a session. All incoming messages were then sent during this connection.
    var isFresh: Bool { if case .up(let session) = phase { !session.isPresent } else { false } }

    var deadline: Instant? {
        switch phase {
        case .waiting(let until), .connecting(let until), .leaving(let until): until
        case .up, .over: nil
        }
    }
}
