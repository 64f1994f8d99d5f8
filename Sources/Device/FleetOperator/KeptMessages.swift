import AgentModel
import MQTTBridge

/// Tells when a broker has sent what it keeps: it does not say so itself.
public struct KeptMessages: Sendable {
    private var last: Instant?
    /// How long nothing more may have come, for that to be all.
    static let pause = Duration.seconds(2)

    public init() {}

    /// A connection stands.
    public mutating func begin(at now: Instant) { last = now }
    public mutating func note(_ message: IncomingMessage, at now: Instant) { if message.isRetained { last = now } }

    /// When they are there, unless more come; nil before the first connection.
    public var end: Instant? { last.map { $0 + Self.pause } }
}
