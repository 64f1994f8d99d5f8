import AgentModel

/// Problem of a DHCPv6 server, for the user. Each is reported once until the next renewal.
public enum DHCPv6Problem: Hashable, Sendable {
    /// No server has answered the quick retransmissions.
    case noAnswer
    case unreadable(DHCPv6MessageError)
    case badPacket(UDPDatagramError)
    case refused(IPv6LeaseError)
    /// Invalid part of an otherwise valid lease, ignored.
    case flaw(IPv6LeaseFlaw)
    /// Answer with an unknown or outdated transaction ID.
    case otherTransaction
    /// Answer with a missing or another client identifier.
    case otherClient
    /// Answer from another server, or without a server identifier.
    case otherServer
    /// The server refuses the addresses.
    case takenBack(DHCPv6Status)
    /// RECONFIGURE (RFC 8415, 18.2.11), ignored: the client has not accepted it.
    case reconfigure
    case conflict(IPAddress)
}

extension DHCPv6Problem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noAnswer: "DHCPv6: no server answers"
        case .unreadable(let error): "DHCPv6: an unreadable message (\(error.summary))"
        case .badPacket(let error): "DHCPv6: a packet with a contradicting header (\(error))"
        case .refused(let error): "DHCPv6: an answer is refused: \(error)"
        case .flaw(let flaw): "DHCPv6: \(flaw); the device does without"
        case .otherTransaction: "DHCPv6: an answer to another question is refused"
        case .otherClient: "DHCPv6: an answer for another client is refused"
        case .otherServer: "DHCPv6: an answer from another server is refused"
        case .takenBack(let status): "DHCPv6: the server takes back the address: \(status)"
        case .reconfigure: "DHCPv6: RECONFIGURE is refused"
        case .conflict(let address): "DHCPv6: \(address) is in use by another host"
        }
    }
}

extension DHCPv6MessageError {
    fileprivate var summary: String {
        switch self {
        case .badLength: "length"
        case .unknownKind(let kind): "kind \(kind)"
        case .truncatedOption(let option): "option \(option.rawValue) is cut off"
        case .tooManyOptions: "more than \(DHCPv6Options.most) options"
        }
    }
}
