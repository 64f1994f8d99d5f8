import AgentModel

/// What is to be told and was not acknowledged yet: of what the broker keeps the newest only, of all else each, in order.
struct MessageQueue: Sendable {
    struct Waiting: Sendable, Equatable {
        var message: OutgoingMessage
        /// After that it is left out.
        var end: Instant?
    }

    /// By topic, in the order in which they are told.
    private var kept: [(topic: String, message: OutgoingMessage, isTold: Bool)] = []
    private var events: [Waiting] = []
    private var bytes = 0
    private var flying: [(number: Int, message: Waiting, since: Instant)] = []
    private var lastNumber = 0
    /// Events that found no room since the device is there.
    private(set) var lost = 0

    var waitingEvents: Int { events.count }
    /// When the message that has been on its way longest was sent.
    var oldestFlight: Instant? { flying.first?.since }
    var isEmpty: Bool { events.isEmpty && flying.isEmpty && kept.allSatisfy(\.isTold) }

    /// The latest of a topic that the broker keeps. What it has is not told again.
    mutating func keep(_ message: OutgoingMessage) {
        if let index = kept.firstIndex(where: { $0.topic == message.topic }) {
            guard kept[index].message != message else { return }
            kept[index] = (message.topic, message, false)
        } else {
            kept.append((message.topic, message, false))
        }
    }

    /// Has a topic told once more, as to someone who has just come.
    mutating func repeatKept(_ topic: String) {
        guard let index = kept.firstIndex(where: { $0.topic == topic }) else { return }
        kept[index].isTold = false
    }

    /// What is kept of another device, or of topics that are no more.
    mutating func forgetKept() { kept = [] }

    mutating func add(_ message: OutgoingMessage, until end: Instant? = nil) {
        events.append(Waiting(message: message, end: end))
        bytes += message.size
        trim()
    }

    private mutating func trim() {
        while events.count > BridgeLimits.queuedMessages || bytes > BridgeLimits.queuedBytes, !events.isEmpty {
            bytes -= events.removeFirst().message.size
            lost += 1
        }
    }

    /// A connection stands.
    /// - Parameter isPresent: the broker has kept the session, and what it was told.
    mutating func connected(isPresent: Bool) {
        guard !isPresent else { return }
        for index in kept.indices { kept[index].isTold = false }
    }

    /// The connection is gone: what was not acknowledged is told again.
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

    /// Takes the next messages to be told, each with the number by which the broker acknowledges it.
    /// - Parameters:
    ///   - window: how many may be on their way.
    ///   - largest: what the broker takes, in bytes.
    mutating func take(at now: Instant, window: Int, largest: Int) -> [(number: Int, message: OutgoingMessage)] {
        var taken: [(Int, OutgoingMessage)] = []
        func fly(_ message: Waiting) {
            lastNumber = lastNumber == Int(UInt16.max) ? 1 : lastNumber + 1
            taken.append((lastNumber, message.message))
            if message.message.isAcknowledged { flying.append((lastNumber, message, now)) }
        }
        for index in kept.indices where !kept[index].isTold && flying.count < window {
            // One of a topic at a time, so that the last one told is the newest.
            guard !flying.contains(where: { $0.message.message.topic == kept[index].topic }) else { continue }
            kept[index].isTold = true
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
        return taken
    }

    /// - Returns: whether it was on its way.
    mutating func acknowledged(_ number: Int) -> Bool {
        guard let index = flying.firstIndex(where: { $0.number == number }) else { return false }
        flying.remove(at: index)
        return true
    }
}
