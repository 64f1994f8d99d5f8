import AgentModel

/// DHCP message (RFC 2131, 2), limited to what a client and a small server need.
public struct DHCPMessage: Equatable, Sendable {
    public enum Operation: UInt8, Sendable {
        case request = 1
        case reply = 2
    }

    /// Message type (RFC 2132, 9.6, and RFC 3203).
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
    /// Transaction ID, chosen by the client and repeated in the answer.
    public var transaction: UInt32
    /// Seconds since the client started.
    public var seconds: UInt16 = 0
    /// Whether the client receives only broadcast answers.
    public var wantsBroadcast = false
    /// Current address of the client (`ciaddr`).
    public var clientAddress = IPv4Address.unspecified
    /// Address given by the server (`yiaddr`).
    public var yourAddress = IPv4Address.unspecified
    /// Hardware address of the client (`chaddr`).
    public var hardware: HardwareAddress
    /// All options except the message type.
    public var options = DHCPOptions()
    /// Address that a received message came from.
    public var sender = IPv4Address.unspecified

    public init(
        _ operation: Operation, _ kind: Kind, transaction: UInt32, hardware: HardwareAddress
    ) {
        (self.operation, self.kind) = (operation, kind)
        (self.transaction, self.hardware) = (transaction, hardware)
    }
}

public enum DHCPMessageError: Error, Hashable, Sendable {
    /// The message is shorter than the header, or longer than ``DHCPMessage/longest``.
    case badLength
    /// The operation is unknown.
    case badHeader
    /// The message is BOOTP without options.
    case noOptions
    case truncatedOption(DHCPOption)
    case noKind
}

extension DHCPMessage {
    /// Maximum length of a message in bytes, to fit one Ethernet packet.
    public static let longest = 1472
    /// Minimum length in bytes. Some servers and relays refuse messages shorter than BOOTP (RFC 1542, 2.1).
    static let shortest = 300

    private static let cookie: [UInt8] = [0x63, 0x82, 0x53, 0x63]
    private static let fixedLength = 240
    private static let broadcastFlag: UInt16 = 0x8000
    private static let ethernet: [UInt8] = [1, 6]

    public init(reading bytes: some Collection<UInt8>) throws(DHCPMessageError) {
        // Evaluates `count` once: it may be O(n).
        let count = bytes.count
        guard (Self.fixedLength...Self.longest).contains(count) else { throw .badLength }
        let bytes = Array(bytes)
        // Nothing needs the type and the length of the hardware address, which some servers set wrongly.
        guard let operation = Operation(rawValue: bytes[0]),
            let transaction = UInt32(bytes: bytes[4..<8]), let seconds = UInt16(bytes: bytes[8..<10]),
            let flags = UInt16(bytes: bytes[10..<12]), let clientAddress = IPv4Address(bytes: bytes[12..<16]),
            let yourAddress = IPv4Address(bytes: bytes[16..<20]), let hardware = HardwareAddress(bytes: bytes[28..<34])
        else { throw .badHeader }
        guard Array(bytes[236..<240]) == Self.cookie else { throw .noOptions }
        let options = try Self.options(of: bytes)
        guard let kind = options[.messageType]?.first.flatMap(Kind.init) else { throw .noKind }
        self.init(operation, kind, transaction: transaction, hardware: hardware)
        self.seconds = seconds
        wantsBroadcast = flags & Self.broadcastFlag != 0
        (self.clientAddress, self.yourAddress) = (clientAddress, yourAddress)
        for (option, value) in options.entries where option != .messageType && option != .overload {
            self.options.append(option, value)
        }
    }

    /// Parses the options. They may continue in the file and server name fields, in this order (RFC 2131, 4.1; RFC
    /// 3396, 5). The overload option counts only in the first field, so there is no recursion.
    private static func options(of bytes: [UInt8]) throws(DHCPMessageError) -> DHCPOptions {
        var options = DHCPOptions()
        try options.read(bytes[fixedLength...])
        guard let overload = options[.overload]?.first else { return options }
        let (serverName, file) = (bytes[44..<108], bytes[108..<236])
        // Nothing needs an unknown value.
        switch overload {
        case 1: try options.read(file)
        case 2: try options.read(serverName)
        case 3:
            try options.read(file)
            try options.read(serverName)
        default: break
        }
        return options
    }

    /// The server: its identifier, which some servers leave out, or the sender. Nil if no host can have the address.
    var server: IPv4Address? {
        let said = try? options.address(.serverIdentifier).get()
        return [said, sender].compactMap(\.self).first(where: \.isHost)
    }

    /// UDP payload of the message. Puts the message type before all other options, as some servers require.
    public var bytes: [UInt8] {
        var options = DHCPOptions()
        options.append(.messageType, [kind.rawValue])
        for (option, value) in self.options.entries { options.append(option, value) }
        let flags = wantsBroadcast ? Self.broadcastFlag : 0
        let numbers: [UInt8] = transaction.bytes + seconds.bytes + flags.bytes
        // siaddr, giaddr and the fields after chaddr are only for booting and relays.
        let addresses: [UInt8] = clientAddress.bytes + yourAddress.bytes + [UInt8](repeating: 0, count: 8)
        let header: [UInt8] = [operation.rawValue] + Self.ethernet + [0] + numbers + addresses + hardware.bytes
        let fixed = header + [UInt8](repeating: 0, count: 236 - header.count) + Self.cookie
        let message = fixed + options.bytes
        return message + [UInt8](repeating: 0, count: max(0, Self.shortest - message.count))
    }
}
