import AgentModel

/// The app's end of a tunnel. A value without I/O: events go in, effects come out.
public struct AppTunnel: Sendable {
    public enum Event: Sendable, Equatable {
        case brokerAccepted
        case brokerFailed(String)
        case acknowledged
        case message(IncomingMessage)
        case appSaid([UInt8])
        case appClosed
        case tick
    }

    public enum Effect: Sendable, Equatable {
        case subscribe(Subscription)
        case publish(OutgoingMessage)
        /// Pass bytes to the app.
        case write([UInt8])
        /// End the tunnel. The value is the reason; nil if an end has closed it.
        case over(String?)
    }

    private enum Phase { case connecting, up, over }

    private let topics: Topics
    private let id: String
    private var stream = TunnelStream()
    private var phase = Phase.connecting
    private var unacknowledged = 0
    /// Time of the device's last message; before the first, of the start or of the broker's acceptance.
    private var heard: Instant
    /// Time of the last message to the device; nil before the first.
    private var sent: Instant?

    /// Silence of the app after which it sends a beat.
    private static let beat = Duration.seconds(10)
    /// Silence of the broker or the device after which the app gives up.
    private static let patience = Duration.seconds(30)

    /// - Parameter id: random ID of the tunnel, 32 hexadecimal digits.
    public init(_ topics: Topics, id: String, at now: Instant) {
        (self.topics, self.id, heard) = (topics, id, now)
    }

    /// Whether the tunnel takes bytes of the app. While false, they stay in the kernel.
    public var readsApp: Bool { phase == .up && unacknowledged < BridgeLimits.inFlight }

    public var deadline: Instant { min(heard + Self.patience, sent.map { $0 + Self.beat } ?? heard + Self.patience) }

    public mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        guard phase != .over else { return [] }
        switch event {
        case .brokerAccepted:
            (phase, heard) = (.up, now)
            return [.subscribe(Subscription(topic: topics.tunnelDown(id), wantsRetained: false))]
        case .brokerFailed(let problem): return end(problem)
        case .acknowledged: unacknowledged -= 1
        case .message(let message):
            guard message.topic == topics.tunnelDown(id), !message.isRetained else { break }
            let received = stream.receive(message.payload)
            switch received {
            case .bytes, .beat: heard = now
            case .repeated: break
            case .end: return end(nil)
            }
            if case .bytes(let bytes) = received { return [.write(bytes)] }
        case .appSaid(let bytes): return stream.pieces(of: bytes).map { publish($0, at: now) }
        case .appClosed:
            let goodbye = sent == nil ? [] : [publish(TunnelStream.end, at: now)]
            return goodbye + end(nil)
        case .tick:
            if heard + Self.patience <= now {
                return end(phase == .up ? "the device does not answer" : "the broker does not answer")
            }
            if let sent, sent + Self.beat <= now { return [publish(stream.beat, at: now)] }
        }
        return []
    }

    private mutating func publish(_ payload: [UInt8], at now: Instant) -> Effect {
        sent = now
        unacknowledged += 1
        return .publish(.tunnel(topics.tunnelUp(id), payload))
    }

    private mutating func end(_ problem: String?) -> [Effect] {
        phase = .over
        return [.over(problem)]
    }
}
