import AgentModel
import AppProtocol

/// A device between its agent and a broker of MQTT 5: what happens goes in, what is to be done comes out. It reads no
/// clock, opens nothing and has no randomness but that of its seed.
///
/// ```
///              connect                  accepted
///   waiting ------------> connecting ------------> up
///      ^                       |                   |
///      +------ failed ---------+------ lost -------+--- stop ---> leaving ---> over
/// ```
public struct Bridge: Sendable {
    /// When something happens.
    public struct Moment: Sendable, Equatable {
        /// By which everything is ordered.
        public var now: Instant
        /// The time of day; nil where the device's clock is not known to be right.
        public var time: Timestamp?

        public init(_ now: Instant, time: Timestamp?) { (self.now, self.time) = (now, time) }
    }

    public enum Event: Sendable, Equatable {
        case agentConnected
        /// A line of the app protocol, without its line feed.
        case agentSaid([UInt8])
        /// With the reason for the log.
        case agentLost(String)
        case brokerAccepted(BrokerSession)
        /// The attempt failed, or the connection has ended.
        case brokerFailed(BrokerFailure)
        /// The broker has a message; the number is that of ``Effect/publish(_:_:)``.
        case acknowledged(Int)
        /// The broker does not take a message, and says why.
        case publishRefused(Int, String)
        /// The broker does not let the device hear something, and says why.
        case subscriptionRefused(String)
        case message(IncomingMessage)
        /// `deadline` is reached.
        case tick
        /// The bridge is to end.
        case stop
    }

    public enum Effect: Sendable, Equatable {
        case connectAgent
        case disconnectAgent
        /// A line, without its line feed.
        case tellAgent([UInt8])
        case connectBroker(BrokerHello)
        /// - `isGoodbye`: the broker is told, so it sends no will. Else the connection is let go.
        case disconnectBroker(isGoodbye: Bool)
        case subscribe([Subscription])
        case publish(Int, OutgoingMessage)
        /// The ids of the last commands are to be on disk before anything that comes later is done.
        case remember([String])
        /// The device shows which one it is.
        case identify
        /// For the log: one line, without a secret.
        case say(String)
        case over
    }

    public enum Purpose: Sendable, Equatable {
        case serve
        /// Takes back all that brokers and Home Assistant keep of the device, and ends.
        case remove
    }

    let settings: BridgeSettings
    private let purpose: Purpose
    var agent: AgentSide
    var broker: BrokerSide
    var device = DeviceKnowledge()
    var queue = MessageQueue()
    var ledger: CommandLedger
    var commandRate = TokenBucket(10, per: .seconds(1), burst: 20)
    /// What was told in the log and did not change since.
    private var told: Set<Complaint> = []

    /// - Parameters:
    ///   - seed: of the waits; another one for each device.
    ///   - ids: of the last commands, as they were to be remembered.
    public init(_ settings: BridgeSettings, purpose: Purpose = .serve, seed: UInt64, remembered ids: [String] = []) {
        self.settings = settings
        self.purpose = purpose
        agent = AgentSide(seed: seed)
        broker = BrokerSide(settings, seed: seed)
        ledger = CommandLedger(ids: ids)
    }

    /// Whether the broker has let the device in.
    public var isConnected: Bool { if case .up = broker.phase { true } else { false } }
    /// Messages that wait for the broker.
    public var waitingMessages: Int { queue.waitingEvents }
    /// Messages that were left out since the start, for there was no room for them.
    public var lostMessages: Int { queue.lost }

    /// The first effect of all: what a bridge does when it is made.
    public mutating func start(at moment: Moment) -> [Effect] {
        var effects: [Effect] = [.connectAgent]
        agent.phase = .connecting
        agent.awaySince = moment.now
        settle(moment, &effects)
        return effects
    }

    /// When `tick` is due.
    public var deadline: Instant? {
        // Before it is known which device this is, there is nothing to connect.
        var deadlines = [agent.deadline, hello == nil ? nil : broker.deadline].compactMap { $0 }
        if let flight = queue.oldestFlight, isConnected { deadlines.append(flight + BridgeLimits.acknowledging) }
        if let midnight = device.midnight { deadlines.append(midnight) }
        if let repetition = device.repetition, isConnected { deadlines.append(repetition) }
        if let signal = device.heldSignal { deadlines.append(signal.due) }
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
            if queue.acknowledged(number) { tell(.publishRefused, "the broker refuses a message: \(reason)", &effects) }
        case .subscriptionRefused(let reason):
            tell(.subscriptionRefused, "the broker lets nothing come to this device: \(reason)", &effects)
        case .message(let message): receive(message, moment, &effects)
        case .tick: break
        case .stop: stop(moment, &effects)
        }
        settle(moment, &effects)
        return effects
    }

    /// Does what has become due, and tells what has become new.
    private mutating func settle(_ moment: Moment, _ effects: inout [Effect]) {
        checkAgent(moment, &effects)
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
            effects.append(.say("connected to the broker\(session.isPresent ? ", which has kept the session" : "")"))
        }
        if !session.keepsMessages {
            tell(.keepsNothing, "the broker keeps no messages: who comes later sees none", &effects)
        }
        guard purpose == .serve else { return }
        var subscriptions: [Subscription] = []
        if settings.role != nil { subscriptions.append(Subscription(topic: topics.request, wantsRetained: false)) }
        if let prefix = settings.discoveryPrefix {
            subscriptions += [
                Subscription(topic: topics.homeAssistant, wantsRetained: false),
                Subscription(topic: Topics.birth(prefix), wantsRetained: false),
            ]
        }
        subscriptions.append(Subscription(topic: topics.firmware, wantsRetained: true))
        effects.append(.subscribe(subscriptions))
        // Whatever the broker keeps, its will may have said that the device is offline.
        queue.repeatKept(topics.availability)
    }

    private mutating func failed(_ failure: BrokerFailure, _ moment: Moment, _ effects: inout [Effect]) {
        switch broker.phase {
        case .leaving: return finish(&effects)
        case .over, .waiting: return
        case .connecting, .up: break
        }
        queue.disconnected()
        // One that ends at once was none: two clients with one name would drive each other out again and again.
        if let since = broker.upSince {
            if since + BridgeLimits.lasting <= moment.now {
                broker.shortLived = 0
                broker.reconnection.succeeded()
                forget([.shortLived, .unreachable])
            } else {
                broker.shortLived += 1
            }
            if broker.shortLived == 3 { tell(.shortLived, Self.shortLived, &effects) }
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
        tell(complaint, "\(failure.text); the next attempt is within \(wait.components.seconds + 1) s", &effects)
    }

    /// mosquitto 2.0 does not tell that another client has come.
    private static let shortLived =
        "the broker lets this device in and drops it, as it does where another client has this one's name"

    /// Lets a connection go that is good for nothing any more, and makes another one.
    mutating func reconnect(_ reason: String, in wait: Duration, _ moment: Moment, _ effects: inout [Effect]) {
        switch broker.phase {
        case .up, .connecting:
            effects += [.say("\(reason): connecting anew"), .disconnectBroker(isGoodbye: false)]
            queue.disconnected()
            broker.upSince = nil
            broker.phase = .waiting(until: moment.now + wait)
        case .waiting:
            // Not while another client has the name, or the broker refuses this one.
            guard !told.contains(.takenOver), !told.contains(.refused) else { return }
            // In place of the wait that there was, even where that ends sooner: of a fleet's, too many would.
            broker.phase = .waiting(until: moment.now + wait)
        case .leaving, .over: break
        }
    }

    private mutating func checkBroker(_ moment: Moment, _ effects: inout [Effect]) {
        if isConnected, let flight = queue.oldestFlight, flight + BridgeLimits.acknowledging <= moment.now {
            effects.append(.disconnectBroker(isGoodbye: false))
            failed(BrokerFailure(.unreachable, "the broker acknowledges nothing"), moment, &effects)
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

    /// Nil until it is known which device this is.
    private var hello: BrokerHello? {
        guard let topics = device.topics, let id = device.capabilities?.deviceId else { return nil }
        return BrokerHello(
            clientID: settings.clientID ?? "altnet-" + id, keepAlive: settings.keepAlive,
            sessionExpiry: settings.toldSessionExpiry, maximumPacket: BridgeLimits.packet,
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

    // MARK: What is told

    /// Brings what the broker keeps up to date.
    private mutating func compose(_ moment: Moment, _ effects: inout [Effect]) {
        guard let topics = device.topics else { return }
        if case .leaving = broker.phase { return }
        // What was lost is told once a connection stands.
        if isConnected { device.note(lost: queue.lost) }
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
            // First what the device is, so that what follows has a place to go.
            if let prefix = settings.discoveryPrefix, device.isDiscoveryDue, let capabilities = device.capabilities {
                device.isDiscoveryDue = false
                let message = HomeAssistantDevice(
                    topics: topics, deviceId: capabilities.deviceId, firmware: capabilities.firmware,
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
            if let signal = device.takeSignal(at: moment.now, interval: settings.signalInterval) {
                queue.keep(retained(topics.signal, try OutsideJSON.encode(signal), false))
            }
        } catch {
            tell(.defect, "a message cannot be encoded: this is a defect", &effects)
        }
    }

    /// Tells an event, in its order.
    mutating func tell(
        _ topic: String, _ body: some Encodable, _ effects: inout [Effect]
    ) {
        do {
            queue.add(OutgoingMessage(topic: topic, payload: try OutsideJSON.encode(body)))
        } catch {
            tell(.defect, "a message cannot be encoded: this is a defect", &effects)
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
        // The fixed header, the lengths and the properties that go along.
        let largest = max(0, (session.maximumPacket ?? BridgeLimits.packet) - 64)
        let lost = queue.lost
        for (number, message) in queue.take(at: moment.now, window: window, largest: largest) {
            var message = message
            if !session.keepsMessages { message.isRetained = false }
            let waits = message.isAcknowledged
            if !session.acknowledges { message.isAcknowledged = false }
            effects.append(.publish(number, message))
            // A broker without QoS 1 acknowledges nothing: what was handed over counts as told.
            if waits, !message.isAcknowledged { _ = queue.acknowledged(number) }
        }
        if queue.lost > lost {
            tell(.tooLarge, "the broker takes no message as large as one that was left out", &effects)
        }
    }

    // MARK: The log

    /// What is told once, until it is over.
    enum Complaint: Hashable {
        case unreachable, refused, takenOver, shortLived, keepsNothing, tooLarge, defect
        case publishRefused, subscriptionRefused
        case agentAway, agentSpeech
        case retainedCommand, strangeTopic, clockUnknown
    }

    mutating func tell(_ complaint: Complaint, _ text: String, _ effects: inout [Effect]) {
        if told.insert(complaint).inserted { effects.append(.say(text)) }
    }

    mutating func forget(_ complaints: [Complaint]) { told.subtract(complaints) }
}

/// The link to the broker.
struct BrokerSide: Sendable {
    enum Phase: Sendable, Equatable {
        case waiting(until: Instant)
        case connecting(until: Instant)
        case up(BrokerSession)
        /// What is left is told, and then it is over.
        case leaving(until: Instant)
        case over
    }

    /// It connects as soon as it is known which device this is.
    var phase = Phase.waiting(until: Instant(milliseconds: .min))
    var reconnection: Reconnection
    /// Since when the broker has let the device in.
    var upSince: Instant?
    /// How many connections in a row did not last.
    var shortLived = 0

    init(_ settings: BridgeSettings, seed: UInt64) {
        reconnection = Reconnection(spread: settings.spread, longest: settings.longestWait, seed: seed)
    }

    /// Whether nothing can have waited at the broker for this connection: what comes by it was said while it stood.
    var isFresh: Bool { if case .up(let session) = phase { !session.isPresent } else { false } }

    var deadline: Instant? {
        switch phase {
        case .waiting(let until), .connecting(let until), .leaving(let until): until
        case .up, .over: nil
        }
    }
}
