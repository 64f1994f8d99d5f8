/// A message that has come from the broker.
public struct IncomingMessage: Sendable, Equatable {
    public var topic: String
    public var payload: [UInt8]
    public var isRetained: Bool
    public var responseTopic: String?
    public var correlation: [UInt8]?
    /// How long it is still good, as the broker tells; nil where its sender did not say.
    public var expiry: Duration?

    public init(
        topic: String, payload: [UInt8], isRetained: Bool = false, responseTopic: String? = nil,
        correlation: [UInt8]? = nil, expiry: Duration? = nil
    ) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
        self.responseTopic = responseTopic
        self.correlation = correlation
        self.expiry = expiry
    }
}

/// A message to the broker.
public struct OutgoingMessage: Sendable, Equatable {
    public var topic: String
    public var payload: [UInt8]
    /// Whether the broker has to acknowledge it (QoS 1).
    public var isAcknowledged: Bool
    public var isRetained: Bool
    /// Where an answer to it is to go.
    public var responseTopic: String?
    public var correlation: [UInt8]?
    /// When it is worth nothing any more.
    public var expiry: Duration?

    public init(
        topic: String, payload: [UInt8], isAcknowledged: Bool = true, isRetained: Bool = false,
        responseTopic: String? = nil, correlation: [UInt8]? = nil, expiry: Duration? = nil
    ) {
        self.topic = topic
        self.payload = payload
        self.isAcknowledged = isAcknowledged
        self.isRetained = isRetained
        self.responseTopic = responseTopic
        self.correlation = correlation
        self.expiry = expiry
    }

    /// What it takes in the queue, in bytes.
    var size: Int { topic.utf8.count + payload.count + (correlation?.count ?? 0) }
}

/// What the broker is told at the start of a connection.
public struct BrokerHello: Sendable, Equatable {
    public let clientID: String
    public let keepAlive: Duration
    public let sessionExpiry: Duration
    public let maximumPacket: Int
    public let receiveMaximum: Int
    /// What the broker tells where the connection ends without a word; nil for nothing.
    public let will: OutgoingMessage?
    public let willDelay: Duration

    public init(
        clientID: String, keepAlive: Duration, sessionExpiry: Duration, maximumPacket: Int, receiveMaximum: Int,
        will: OutgoingMessage?, willDelay: Duration
    ) {
        self.clientID = clientID
        self.keepAlive = keepAlive
        self.sessionExpiry = sessionExpiry
        self.maximumPacket = maximumPacket
        self.receiveMaximum = receiveMaximum
        self.will = will
        self.willDelay = willDelay
    }
}

/// What the broker has said when it let the device in.
public struct BrokerSession: Sendable, Equatable {
    /// It has kept what it knew of the device.
    public var isPresent: Bool
    /// The device's address at this connection, without a port; nil where that is not known.
    public var localAddress: String?
    /// In bytes; nil where it takes any.
    public var maximumPacket: Int?
    /// How many messages may be on their way.
    public var receiveMaximum: Int?
    public var keepsMessages: Bool
    public var acknowledges: Bool

    public init(
        isPresent: Bool, localAddress: String? = nil, maximumPacket: Int? = nil, receiveMaximum: Int? = nil,
        keepsMessages: Bool = true, acknowledges: Bool = true
    ) {
        self.isPresent = isPresent
        self.localAddress = localAddress
        self.maximumPacket = maximumPacket
        self.receiveMaximum = receiveMaximum
        self.keepsMessages = keepsMessages
        self.acknowledges = acknowledges
    }
}

/// Why there is no connection to the broker, or none any more.
public struct BrokerFailure: Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        /// The network, the name, the port, TLS, or a broker that broke off.
        case unreachable
        /// The broker does not let this device in.
        case refused
        /// Another client has come with the same name.
        case takenOver
    }

    public let kind: Kind
    /// For the log: one sentence, without a secret.
    public let text: String

    public init(_ kind: Kind, _ text: String) { (self.kind, self.text) = (kind, text) }
}

/// A topic to be heard, with the options of MQTT 5.
public struct Subscription: Sendable, Equatable {
    public let topic: String
    /// Whether what the broker keeps there is wanted.
    public let wantsRetained: Bool
    /// Whether a message that was published to be kept comes with its mark; else only one that the broker had kept does.
    public let keepsMark: Bool

    public init(topic: String, wantsRetained: Bool, keepsMark: Bool = true) {
        (self.topic, self.wantsRetained, self.keepsMark) = (topic, wantsRetained, keepsMark)
    }
}
