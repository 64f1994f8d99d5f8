import AgentModel
import AppProtocol
import BrokerIO
import FleetOperator
import MQTTBridge
import Synchronization

/// A broker of several nodes in virtual time: sessions, retained messages and wills of devices, and one operator. The
/// nodes share their state, as in a cluster. Time passes only in `wait(until:)`.
package final class SimulatedBroker: FleetTransport {
    /// Virtual time since the start, in milliseconds.
    package final class Clock: Sendable {
        fileprivate let elapsed = Atomic<Int64>(0)
        private static let beginning = Timestamp(millisecondsSince1970: 1_764_547_200_000)

        package var time: Timestamp {
            let elapsed = elapsed.load(ordering: .relaxed)
            return Timestamp(millisecondsSince1970: Self.beginning.millisecondsSince1970 + elapsed)
        }
    }

    private struct Session {
        var link: Link?
        /// Time at which the broker forgets the session, while there is no connection.
        var end = Int64.min
        var isSubscribed = false
        var waiting: [(message: IncomingMessage, end: Int64?)] = []
        var will: (message: OutgoingMessage, due: Int64)?
    }

    package let clock = Clock()
    private let first: Int
    private var isNodeUp: [Bool]
    private var sessions: [Session]
    private var retained: [String: [UInt8]] = [:]
    /// Due times of events (twice the device's number) and of wills (that plus one).
    private var agenda = Agenda()
    private var inbox: [(due: Int64, message: IncomingMessage)] = []
    private var hasOperator = false

    /// Time of a message between two machines, in milliseconds.
    private static let latency: Int64 = 20
    /// Round trips of TCP, TLS 1.3 and CONNECT.
    private static let connecting = 6 * latency

    /// - Parameter first: number of the first device in its ID.
    package init(devices: Int, first: Int = 0, nodes: Int) {
        self.first = first
        isNodeUp = Array(repeating: true, count: nodes)
        sessions = Array(repeating: Session(), count: devices)
    }

    private var moment: Int64 { clock.elapsed.load(ordering: .relaxed) }
    package var now: Instant { Instant(milliseconds: moment) }
    package var time: Timestamp { clock.time }

    package func wait(until end: Instant) -> [Int] {
        let next = max(moment, min(end.milliseconds, agenda.next ?? .max))
        clock.elapsed.store(next, ordering: .relaxed)
        var ready: [Int] = []
        while let entry = agenda.removeFirst(dueBy: next) {
            let number = entry / 2
            if entry % 2 == 0 {
                ready.append(number)
            } else if let will = sessions[number].will, will.due <= next {
                sessions[number].will = nil
                route(will.message)
            }
        }
        return ready
    }

    package func follow(_ link: any FleetLink, of number: Int) -> Bool { (link as? Link)?.isAlive ?? false }
    package func forget(_ number: Int) {}

    // MARK: Nodes

    package func kill(_ node: Int) {
        isNodeUp[node] = false
        for number in sessions.indices {
            guard let link = sessions[number].link, link.node == node else { continue }
            release(link, isGoodbye: false)
            link.fail("the node was killed")
        }
    }

    package func restart(_ node: Int) { isNodeUp[node] = true }

    // MARK: Devices

    package func connect(_ number: Int, _ hello: BrokerHello, toNode node: Int) throws(BrokerFault) -> any FleetLink {
        let link = Link(number, hello, node: node % isNodeUp.count, self)
        guard isNodeUp[link.node] else {
            link.fail("the node is down")
            return link
        }
        let isPresent = sessions[number].link != nil || moment < sessions[number].end
        if !isPresent { sessions[number] = Session() }
        sessions[number].link = link
        sessions[number].will = nil
        link.expect(.brokerAccepted(BrokerSession(isPresent: isPresent)), in: Self.connecting)
        for waiting in sessions[number].waiting where waiting.end.map({ $0 > moment }) ?? true {
            link.expect(.message(waiting.message), in: Self.connecting)
        }
        sessions[number].waiting = []
        return link
    }

    fileprivate func release(_ link: Link, isGoodbye: Bool) {
        guard sessions[link.number].link === link else { return }
        sessions[link.number].link = nil
        sessions[link.number].end = moment + link.hello.sessionExpiry.milliseconds
        guard !isGoodbye, let will = link.hello.will else { return }
        let due = moment + link.hello.willDelay.milliseconds
        sessions[link.number].will = (will, due)
        agenda.add(link.number * 2 + 1, due: due)
    }

    fileprivate func subscribe(_ number: Int) { sessions[number].isSubscribed = true }
    fileprivate func schedule(_ number: Int, due: Int64) { agenda.add(number * 2, due: due) }

    /// Stores a retained message, and passes each message on to the operator.
    fileprivate func route(_ message: OutgoingMessage) {
        if message.isRetained { retained[message.topic] = message.payload.isEmpty ? nil : message.payload }
        guard hasOperator else { return }
        inbox.append((moment + Self.latency, IncomingMessage(topic: message.topic, payload: message.payload)))
    }

    // MARK: The operator

    /// Connects the operator, who gets all retained messages now and all messages from now on.
    package func connectOperator() {
        hasOperator = true
        for (topic, payload) in retained {
            inbox.append((moment, IncomingMessage(topic: topic, payload: payload, isRetained: true)))
        }
    }

    package func disconnectOperator() { (hasOperator, inbox) = (false, []) }

    package func drainInbox() -> [IncomingMessage] {
        let count = inbox.firstIndex { $0.due > moment } ?? inbox.count
        defer { inbox.removeFirst(count) }
        return inbox.prefix(count).map(\.message)
    }

    /// Publishes requests of the operator to devices.
    package func publish(_ messages: [OutgoingMessage]) {
        for message in messages {
            guard let id = Topics.device(of: message.topic, below: "altnet")?.id, let number = Fleet.number(of: id),
                sessions.indices.contains(number - first), sessions[number - first].isSubscribed
            else { continue }
            let incoming = IncomingMessage(
                topic: message.topic, payload: message.payload, responseTopic: message.responseTopic,
                correlation: message.correlation, expiry: message.expiry)
            if let link = sessions[number - first].link {
                link.expect(.message(incoming), in: 2 * Self.latency)
            } else if moment < sessions[number - first].end {
                sessions[number - first].waiting.append((incoming, message.expiry.map { moment + $0.milliseconds }))
            }
        }
    }

    fileprivate final class Link: FleetLink {
        let number: Int
        let hello: BrokerHello
        let node: Int
        private let broker: SimulatedBroker
        private(set) var events: [Bridge.Event] = []
        private var arriving: [(due: Int64, event: Bridge.Event)] = []
        private var isOpen = true

        init(_ number: Int, _ hello: BrokerHello, node: Int, _ broker: SimulatedBroker) {
            (self.number, self.hello, self.node, self.broker) = (number, hello, node, broker)
        }

        var isAlive: Bool { isOpen || !arriving.isEmpty }
        var patience: Duration? { nil }

        func expect(_ event: Bridge.Event, in wait: Int64) {
            let due = max(arriving.last?.due ?? 0, broker.moment + wait)
            arriving.append((due, event))
            broker.schedule(number, due: due)
        }

        func fail(_ text: String) {
            arriving = []
            expect(.brokerFailed(BrokerFailure(.unreachable, text)), in: SimulatedBroker.latency)
            isOpen = false
        }

        func proceed(isReady: Bool) {
            while let first = arriving.first, first.due <= broker.moment {
                events.append(first.event)
                arriving.removeFirst()
            }
        }

        func drainEvents() -> [Bridge.Event] {
            defer { events = [] }
            return events
        }

        func close(isGoodbye: Bool) {
            guard isOpen else { return }
            (isOpen, arriving) = (false, [])
            broker.release(self, isGoodbye: isGoodbye)
        }

        func subscribe(_ subscriptions: [Subscription]) { if isOpen { broker.subscribe(number) } }

        func publish(_ number: Int, _ message: OutgoingMessage) {
            guard isOpen else { return }
            if message.isAcknowledged { expect(.acknowledged(number), in: 2 * SimulatedBroker.latency) }
            broker.route(message)
        }
    }
}
