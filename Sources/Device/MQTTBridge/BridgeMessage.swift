public struct IncomingMessage: Sendable, Equatable {
    public var topic: String
    public var payload: [UInt8]
    public var isRetained: Bool
    public var responseTopic: String?
    public var correlation: [UInt8]?
    /// Remaining time until the message expires, as reported by the broker; nil if the sender set no expiry.
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

public struct OutgoingMessage: Sendable, Equatable {
    public var topic: String
    public var payload: [UInt8]
    /// Whether the broker acknowledges the message (QoS 1).
    public var isAcknowledged: Bool
    public var isRetained: Bool
    public var responseTopic: String?
    public var correlation: [UInt8]?
    /// Time after which the broker drops the message.
    public var expiry: Duration?
    /// Whether the payload is not text, as in a tunnel.
    public var isBinary = false

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

    /// Returns a message of a tunnel.
    public static func tunnel(_ topic: String, _ payload: [UInt8]) -> OutgoingMessage {
        var message = OutgoingMessage(topic: topic, payload: payload, expiry: BridgeLimits.tunnelExpiry)
        message.isBinary = true
        return message
    }

    /// Size in bytes, without properties other than the correlation data.
    var size: Int { topic.utf8.count + payload.count + (correlation?.count ?? 0) }
}

/// Parameters of the CONNECT packet.
public struct BrokerHello: Sendable, Equatable {
    public let clientID: String
    public let keepAlive: Duration
    public let sessionExpiry: Duration
    public let maximumPacket: Int
    public let receiveMaximum: Int
    /// Message that the broker publishes if the connection ends without a goodbye.
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

/// Properties of the CONNACK packet.
public struct BrokerSession: Sendable, Equatable {
    public var isPresent: Bool
    /// The device's address on this connection, without port; nil if unknown.
    public var localAddress: String?
    /// Whether `localAddress` has been an address of the network in use.
    var isOfNetwork = false
    /// Maximum size of a packet in bytes; nil without a limit.
    public var maximumPacket: Int?
    /// Limit of messages in flight; nil without a limit.
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

public struct BrokerFailure: Sendable, Equatable {
    public enum Kind: Sendable, Equatable {
        /// The network, name resolution, port or TLS failed, or the broker dropped the connection.
        case unreachable
        case refused
        /// Another client has connected with the same client ID.
        case takenOver
    }

    public let kind: Kind
    /// One sentence without secrets for the log.
    public let text: String

    public init(_ kind: Kind, _ text: String) { (self.kind, self.text) = (kind, text) }
}

public struct Subscription: Sendable, Equatable {
    public let topic: String
    public let wantsRetained: Bool
    /// Whether new messages keep their retain flag; otherwise only retained messages have it.
    public let keepsMark: Bool

    public init(topic: String, wantsRetained: Bool, keepsMark: Bool = true) {
        (self.topic, self.wantsRetained, self.keepsMark) = (topic, wantsRetained, keepsMark)
    }
}
