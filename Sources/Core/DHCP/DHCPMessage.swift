import AgentModel

/// A message of DHCP (RFC 2131, 2), as far as a client needs it.
public struct DHCPMessage: Equatable, Sendable {
    public enum Operation: UInt8, Sendable {
        /// From a client.
        case request = 1
        /// From a server.
        case reply = 2
    }

    /// RFC 2132, 9.6, and RFC 3203.
    public enum Kind: UInt8, Sendable, CaseIterable {
        case discover = 1
        case offer = 2
        case request = 3
        case decline = 4
        case ack = 5
        case nak = 6
        case release = 7
        case inform = 8
        case forceRenew = 9
    }

    public var operation: Operation
    public var kind: Kind
    /// Chosen by the client; an answer has that of its question.
    public var transaction: UInt32
    /// Since the client began, in seconds.
    public var seconds: UInt16 = 0
    /// Whether the client takes answers only at 255.255.255.255.
    public var wantsBroadcast = false
    /// The address that the client has (`ciaddr`).
    public var clientAddress = IPv4Address.unspecified
    /// The address that the server gives (`yiaddr`).
    public var yourAddress = IPv4Address.unspecified
    /// The client's hardware address (`chaddr`).
    public var hardware: HardwareAddress
    /// All but the message's kind.
    public var options = DHCPOptions()

    public init(
        _ operation: Operation, _ kind: Kind, transaction: UInt32, hardware: HardwareAddress
    ) {
        (self.operation, self.kind) = (operation, kind)
        (self.transaction, self.hardware) = (transaction, hardware)
    }
}

/// Why bytes are no message of DHCP.
public enum DHCPMessageError: Error, Hashable, Sendable {
    /// Shorter than the fixed part, or longer than ``DHCPMessage/longest``.
    case badLength
    /// Neither from a client nor from a server, or for other hardware than Ethernet and Wi-Fi.
    case badHeader
    /// A message of BOOTP, which has no options.
    case noOptions
    /// An option is longer than what is left of its field.
    case truncatedOption(DHCPOption)
    /// There is no kind of message, or an unknown one.
    case noKind
    /// The option about options in other fields says nothing known.
    case badOverload
}

extension DHCPMessage {
    /// The longest message that is read, in bytes: it fits into a packet of Ethernet and Wi-Fi.
    public static let longest = 1472
    /// The shortest that is sent: some servers and relays refuse what is shorter than a message of BOOTP (RFC 1542, 2.1).
    static let shortest = 300

    private static let cookie: [UInt8] = [0x63, 0x82, 0x53, 0x63]
    private static let fixedLength = 240
    private static let broadcastFlag: UInt16 = 0x8000
    private static let ethernet: [UInt8] = [1, 6]

    /// Reads what follows the header of UDP.
    public init(reading bytes: some Collection<UInt8>) throws(DHCPMessageError) {
        // The length is asked for once: a collection may have to count.
        let count = bytes.count
        guard (Self.fixedLength...Self.longest).contains(count) else { throw .badLength }
        let bytes = Array(bytes)
        guard let operation = Operation(rawValue: bytes[0]), Array(bytes[1...2]) == Self.ethernet,
            let transaction = UInt32(bytes: bytes[4..<8]), let seconds = UInt16(bytes: bytes[8..<10]),
            let flags = UInt16(bytes: bytes[10..<12]), let clientAddress = IPv4Address(bytes: bytes[12..<16]),
            let yourAddress = IPv4Address(bytes: bytes[16..<20]), let hardware = HardwareAddress(bytes: bytes[28..<34])
        else { throw .badHeader }
        guard Array(bytes[236..<240]) == Self.cookie else { throw .noOptions }
        let options = try Self.options(of: bytes)
        guard let kind = options[.messageType], kind.count == 1, let kind = kind.first.flatMap(Kind.init) else {
            throw .noKind
        }
        self.init(operation, kind, transaction: transaction, hardware: hardware)
        self.seconds = seconds
        wantsBroadcast = flags & Self.broadcastFlag != 0
        (self.clientAddress, self.yourAddress) = (clientAddress, yourAddress)
        for (option, value) in options.entries where option != .messageType && option != .overload {
            self.options.append(option, value)
        }
    }

    /// Options may go on in the fields for a file and for the server's name, in this order (RFC 2131, 4.1; RFC 3396, 5).
    /// The word about that counts in the first field alone, so nothing leads round in a circle.
    private static func options(of bytes: [UInt8]) throws(DHCPMessageError) -> DHCPOptions {
        var options = DHCPOptions()
        try options.read(bytes[fixedLength...])
        guard let overload = options[.overload] else { return options }
        let (serverName, file) = (bytes[44..<108], bytes[108..<236])
        switch overload {
        case [1]: try options.read(file)
        case [2]: try options.read(serverName)
        case [3]:
            try options.read(file)
            try options.read(serverName)
        default: throw .badOverload
        }
        return options
    }

    /// What follows the header of UDP. The kind comes first, as some servers want it.
    public var bytes: [UInt8] {
        var options = DHCPOptions()
        options.append(.messageType, [kind.rawValue])
        for (option, value) in self.options.entries { options.append(option, value) }
        let flags = wantsBroadcast ? Self.broadcastFlag : 0
        let numbers: [UInt8] = transaction.bytes + seconds.bytes + flags.bytes
        // siaddr and giaddr are for booting and for relays, and so are the fields behind chaddr.
        let addresses: [UInt8] = clientAddress.bytes + yourAddress.bytes + [UInt8](repeating: 0, count: 8)
        let header: [UInt8] = [operation.rawValue] + Self.ethernet + [0] + numbers + addresses + hardware.bytes
        let fixed = header + [UInt8](repeating: 0, count: 236 - header.count) + Self.cookie
        let message = fixed + options.bytes
        return message + [UInt8](repeating: 0, count: max(0, Self.shortest - message.count))
    }
}
