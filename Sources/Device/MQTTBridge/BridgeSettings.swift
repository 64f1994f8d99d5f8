import AppProtocol

public struct BridgeSettings: Sendable, Equatable {
    /// First levels of the device's topics: 1 to 64 bytes, without wildcards (``Topics/isPrefix(_:)``).
    public var prefix = "altnet"
    /// Client ID; nil for `altnet-` and the device's ID.
    public var clientID: String?
    /// Role of the broker's clients; nil to refuse all their requests.
    public var role: Role? = .switch
    /// Home Assistant's discovery prefix; nil to disable discovery.
    public var discoveryPrefix: String? = "homeassistant"
    public var keepAlive = Duration.seconds(60)
    /// Delay before the broker publishes the will, longer than a planned switch takes.
    public var willDelay = Duration.seconds(60)
    /// Time that the broker keeps the session; at least `willDelay`, as the broker sends the will at the earlier of
    /// both.
    public var sessionExpiry = Duration.seconds(3600)
    /// Time over which the devices of a fleet spread their attempts after an outage of broker or network.
    public var spread = Duration.seconds(25)
    public var longestWait = Duration.seconds(50)
    /// Shortest time between two messages with the signal.
    public var signalInterval = Duration.seconds(30)

    public init() {}

    public var announcedSessionExpiry: Duration { max(sessionExpiry, willDelay) }
}

public enum BridgeLimits {
    /// Maximum bytes of a packet from the broker: a line of the app protocol, topic and properties.
    public static let packet = ProtocolLimits.lineLength + 4096
    /// Limits of the events in the queue, in messages and bytes. The oldest are dropped.
    public static let queuedMessages = 200
    public static let queuedBytes = 256 * 1024
    /// Maximum number of unacknowledged messages.
    public static let inFlight = 16
    public static let pendingRequests = 16
    /// Stored command IDs, and bytes of their answers.
    public static let rememberedCommands = 64
    public static let rememberedBytes = 128 * 1024
    /// Longest time from now to a command's expiry.
    public static let longestExpiry = Duration.seconds(86_400)
    /// Maximum bytes of a response topic and of correlation data.
    public static let responseTopic = 256
    public static let correlation = 256
    /// Time limits for the broker's CONNACK and PUBACK.
    public static let connecting = Duration.seconds(60)
    public static let acknowledging = Duration.seconds(120)
    /// Time after which a connection counts as stable.
    public static let lasting = Duration.seconds(30)
    /// Absence of the agent after which the device counts as offline.
    public static let agentAway = Duration.seconds(30)
    /// Longest time between two `status` messages, so that `told` shows when the device was last there.
    public static let statusInterval = Duration.seconds(900)
    /// Time for the last messages before a goodbye.
    public static let leaving = Duration.seconds(2)
    /// Time that an answer waits for the broker before it is dropped.
    public static let answerLife = Duration.seconds(600)
}
