import AgentModel
import MQTTBridge

/// Detects the end of the retained messages, which a broker does not announce.
public struct RetainedMessages: Sendable {
    private var last: Instant?
    /// Time after the last retained message until the messages count as complete.
    static let pause = Duration.seconds(2)

    public init() {}

    /// Starts the wait. Call this when a connection is up.
    public mutating func begin(at now: Instant) { last = now }
    public mutating func record(_ message: IncomingMessage, at now: Instant) { if message.isRetained { last = now } }

    /// Time at which the retained messages count as complete, unless more arrive; nil before the first connection.
    public var end: Instant? { last.map { $0 + Self.pause } }
}
