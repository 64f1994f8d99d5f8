import AppProtocol

/// How a device appears at a broker.
public struct BridgeSettings: Sendable, Equatable {
    /// The first levels of the device's topics: 1 to 64 bytes, without wildcards (``Topics/isPrefix(_:)``).
    public var prefix = "altnet"
    /// The name by which the broker knows the session; nil for `altnet-` and the device's id.
    public var clientID: String?
    /// What the broker's other clients may command; nil for nothing at all, not even a question.
    public var role: Role? = .switch
    /// The topic below which Home Assistant looks for devices; nil: it is told nothing, and what it was told is taken
    /// back.
    public var discoveryPrefix: String? = "homeassistant"
    /// How often the link to the broker is tried where nothing is said on it.
    public var keepAlive = Duration.seconds(60)
    /// How long a broker waits before it tells that the device is offline: longer than a planned move takes.
    public var willDelay = Duration.seconds(60)
    /// How long it keeps the session; never less than `willDelay` counts, for the will is sent at the earlier of both.
    public var sessionExpiry = Duration.seconds(3600)
    /// The time over which the devices of a fleet come back after a broker or a network did.
    public var spread = Duration.seconds(25)
    /// The longest wait between two attempts to connect.
    public var longestWait = Duration.seconds(50)
    /// How often the signal is told at most.
    public var signalInterval = Duration.seconds(30)

    public init() {}

    /// The session expiry that the broker is told.
    public var toldSessionExpiry: Duration { max(sessionExpiry, willDelay) }
}

/// What a bridge holds and takes, whatever comes.
public enum BridgeLimits {
    /// The longest packet that the broker may send, in bytes: a line of the app protocol, its topic and its properties.
    public static let packet = ProtocolLimits.lineLength + 4096
    /// Messages that wait for the broker, and their bytes. Beyond that the oldest go.
    public static let queuedMessages = 200
    public static let queuedBytes = 256 * 1024
    /// Messages on their way that the broker has not acknowledged yet.
    public static let inFlight = 16
    /// Requests that wait for the agent's answer.
    public static let pendingRequests = 16
    /// Commands whose ids are remembered, and how many bytes of their answers.
    public static let rememberedCommands = 64
    public static let rememberedBytes = 128 * 1024
    /// How far ahead a command may be good.
    public static let longestExpiry = Duration.seconds(86_400)
    /// The longest topic that an answer is sent to, in bytes, and the longest correlation data.
    public static let responseTopic = 256
    public static let correlation = 256
    /// How long the broker may take to let the device in, and to acknowledge a message.
    public static let connecting = Duration.seconds(60)
    public static let acknowledging = Duration.seconds(120)
    /// How long a connection has to last to count as one.
    public static let lasting = Duration.seconds(30)
    /// How long the agent may be away before the device counts as offline.
    public static let agentAway = Duration.seconds(30)
    /// How often `status` is told at least, so that its `told` says when the device was there last.
    public static let statusInterval = Duration.seconds(900)
    /// How long a device that goes waits for the broker to know.
    public static let leaving = Duration.seconds(2)
    /// How long an answer waits for the broker.
    public static let answerLife = Duration.seconds(600)
}
