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
    /// RECONFIGURE (RFC 8415, 18.2.11), ignored: the client does not offer to accept it.
    case reconfigure
    case conflict(IPAddress)
}

extension DHCPv6Problem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noAnswer: "DHCPv6: no server answers"
        case .unreadable(let error): "DHCPv6: unreadable message: \(error.summary)"
        case .badPacket(let error): "DHCPv6: inconsistent packet header: \(error)"
        case .refused(let error): "DHCPv6: ignoring an answer: \(error)"
        case .flaw(let flaw): "DHCPv6: ignoring a part of an answer: \(flaw)"
        case .otherTransaction: "DHCPv6: ignoring an answer with an unknown transaction ID"
        case .otherClient: "DHCPv6: ignoring an answer for another client"
        case .otherServer: "DHCPv6: ignoring an answer of another server"
        case .takenBack(let status): "DHCPv6: the server has withdrawn the address: \(status)"
        case .reconfigure: "DHCPv6: ignoring RECONFIGURE"
        case .conflict(let address): "DHCPv6: \(address) is in use by another host"
        }
    }
}

extension DHCPv6MessageError {
    fileprivate var summary: String {
        switch self {
        case .badLength: "length"
        case .unknownKind(let kind): "message type \(kind)"
        case .truncatedOption(let option): "option \(option.rawValue) is cut off"
        case .tooManyOptions: "more than \(DHCPv6Options.most) options"
        }
    }
}
