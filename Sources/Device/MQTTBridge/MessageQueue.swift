import AgentModel

/// Messages that the broker has not acknowledged: the newest of each retained topic, and all events in order.
struct MessageQueue: Sendable {
    struct Waiting: Sendable, Equatable {
        var message: OutgoingMessage
        var end: Instant?
    }

    /// Newest message of each retained topic, in the order of sending.
    private var kept: [(topic: String, message: OutgoingMessage, isSent: Bool)] = []
    private var events: [Waiting] = []
    /// Bytes of the waiting events.
    private(set) var bytes = 0
    private var flying: [(number: Int, message: Waiting, since: Instant)] = []
    private var lastNumber = 0
    /// Number of messages dropped for lack of room or because of their size, without those of tunnels.
    private(set) var lost = 0

    var waitingEvents: Int { events.count }
    var oldestFlight: Instant? { flying.first?.since }
    var isEmpty: Bool { events.isEmpty && flying.isEmpty && kept.allSatisfy(\.isSent) }

    /// Replaces the retained message of a topic. Does nothing if the message has not changed.
    mutating func keep(_ message: OutgoingMessage) {
        if let index = kept.firstIndex(where: { $0.topic == message.topic }) {
            guard kept[index].message != message else { return }
            kept[index] = (message.topic, message, false)
        } else {
            kept.append((message.topic, message, false))
        }
    }

    mutating func repeatKept(_ topic: String) {
        guard let index = kept.firstIndex(where: { $0.topic == topic }) else { return }
        kept[index].isSent = false
    }

    /// Drops the retained messages after a change of the device's ID.
    mutating func forgetKept() { kept = [] }

    mutating func add(_ message: OutgoingMessage, until end: Instant? = nil) {
        events.append(Waiting(message: message, end: end))
        bytes += message.size
        trim()
    }

    /// Drops the oldest messages, of tunnels first: an app can ask again.
    private mutating func trim() {
        while events.count > BridgeLimits.queuedMessages || bytes > BridgeLimits.queuedBytes, !events.isEmpty {
            let tunnelled = events.firstIndex { $0.message.isBinary }
            bytes -= events.remove(at: tunnelled ?? 0).message.size
            if tunnelled == nil { lost += 1 }
        }
    }

    /// Starts a connection. Sends all retained messages again unless the broker has kept the session.
    mutating func connected(isPresent: Bool) {
        guard !isPresent else { return }
        for index in kept.indices { kept[index].isSent = false }
    }

    /// Ends a connection and queues unacknowledged messages again.
    mutating func disconnected() {
        for flight in flying.reversed() {
            if flight.message.message.isRetained {
                repeatKept(flight.message.message.topic)
            } else {
                events.insert(flight.message, at: 0)
                bytes += flight.message.message.size
            }
        }
        flying = []
        trim()
    }

    /// Removes the next messages from the queue and returns each with its packet number.
    /// - Parameters:
    ///   - window: limit of messages in flight.
    ///   - largest: limit of a message's size, in bytes.
    mutating func dequeue(at now: Instant, window: Int, largest: Int) -> [(number: Int, message: OutgoingMessage)] {
        var dequeued: [(Int, OutgoingMessage)] = []
        func fly(_ message: Waiting) {
            lastNumber = lastNumber == Int(UInt16.max) ? 1 : lastNumber + 1
            dequeued.append((lastNumber, message.message))
            if message.message.isAcknowledged { flying.append((lastNumber, message, now)) }
        }
        for index in kept.indices where !kept[index].isSent && flying.count < window {
            // Send one message of a topic at a time, so that the newest arrives last.
            guard !flying.contains(where: { $0.message.message.topic == kept[index].topic }) else { continue }
            kept[index].isSent = true
            guard kept[index].message.size <= largest else {
                lost += 1
                continue
            }
            fly(Waiting(message: kept[index].message))
        }
        while flying.count < window, !events.isEmpty {
            var event = events.removeFirst()
            bytes -= event.message.size
            if let end = event.end {
                guard end > now else { continue }
                event.message.expiry = end - now
            }
            guard event.message.size <= largest else {
                lost += 1
                continue
            }
            fly(event)
        }
        return dequeued
    }

    /// - Returns: false if the message is not in flight.
    mutating func acknowledged(_ number: Int) -> Bool {
        guard let index = flying.firstIndex(where: { $0.number == number }) else { return false }
        flying.remove(at: index)
        return true
    }
}
