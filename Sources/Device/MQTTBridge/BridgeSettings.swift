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
    /// Time for which the broker keeps the session; at least `willDelay`, because the broker also sends the will when
    /// the session ends.
    public var sessionExpiry = Duration.seconds(3600)
    /// Time over which a fleet spreads its reconnections after an outage of the broker or network.
    public var spread = Duration.seconds(25)
    /// Maximum wait between two attempts to connect.
    public var longestWait = Duration.seconds(50)
    /// Permanent hardware addresses of the device's radios, for Home Assistant; empty if unknown.
    public var hardwareAddresses: [String] = []
    /// Port of the device's page on each of its addresses, for Home Assistant; nil without a page.
    public var pagePort: Int?
    /// Minimum interval between two messages with the signal.
    public var signalInterval = Duration.seconds(30)

    public init() {}

    public var announcedSessionExpiry: Duration { max(sessionExpiry, willDelay) }
}

public enum BridgeLimits {
    /// Maximum bytes of a packet from the broker: a line of the app protocol, the topic and properties.
    public static let packet = ProtocolLimits.lineLength + 4096
    /// Maximum number of events in the queue. The oldest events are dropped.
    public static let queuedMessages = 200
    /// Maximum bytes of the events in the queue.
    public static let queuedBytes = 256 * 1024
    /// Maximum number of unacknowledged messages.
    public static let inFlight = 16
    public static let pendingRequests = 16
    /// Maximum number of stored command IDs.
    public static let rememberedCommands = 64
    /// Maximum bytes of the stored answers.
    public static let rememberedBytes = 128 * 1024
    /// Maximum time until a command's expiry.
    public static let longestExpiry = Duration.seconds(86_400)
    /// Maximum bytes of a response topic.
    public static let responseTopic = 256
    /// Maximum bytes of correlation data.
    public static let correlation = 256
    /// Time limit for the broker's CONNACK.
    public static let connecting = Duration.seconds(60)
    /// Time limit for the broker's PUBACK.
    public static let acknowledging = Duration.seconds(120)
    /// Time after which a connection counts as stable.
    public static let lasting = Duration.seconds(30)
    /// Absence of the agent after which the device counts as offline.
    public static let agentAway = Duration.seconds(30)
    /// Maximum interval between two `status` messages, so that `told` shows when the device was last online.
    public static let statusInterval = Duration.seconds(900)
    /// Time for sending the last messages before a goodbye.
    public static let leaving = Duration.seconds(2)
    /// Time for which an answer waits for the broker before it is dropped.
    public static let answerLife = Duration.seconds(600)
    /// Maximum number of apps that are connected through the broker.
    public static let tunnels = 4
    /// Silence of an app after which the bridge ends its tunnel.
    public static let tunnelIdle = Duration.seconds(60)
    /// Maximum bytes of the connection in one message of a tunnel.
    public static let tunnelPiece = 16 * 1024
    /// Time after which the broker drops a message of a tunnel.
    public static let tunnelExpiry = Duration.seconds(15)
    /// Waiting messages, in bytes, from which on the bridge reads no more of the agent's bytes for apps.
    public static let tunnelBacklog = 64 * 1024
}
