import AgentModel

/// Something about a server of DHCPv6 that the owner may want to know. Each is told once until the next renewal.
public enum DHCPv6Problem: Hashable, Sendable {
    /// No server has answered a question and its quick repetitions.
    case noAnswer
    /// A packet that is no message of DHCPv6.
    case unreadable(DHCPv6MessageError)
    /// A packet whose header contradicts itself.
    case badPacket(UDPDatagramError)
    /// An offer or an address that is not taken.
    case refused(IPv6LeaseError)
    /// A thing beside an address that is not used.
    case flaw(IPv6LeaseFlaw)
    /// An answer for this device to a question that it has not asked, or not lately.
    case otherTransaction
    /// An answer that names no client or another one.
    case otherClient
    /// The answer comes from another server than the one that was asked, or from one without an identifier.
    case otherServer
    /// The server takes back the address.
    case takenBack(DHCPv6Status)
    /// RECONFIGURE (RFC 8415, 18.2.11): the client has not said that it accepts it.
    case reconfigure
    /// Another host has the address.
    case conflict(IPAddress)
}

extension DHCPv6Problem: CustomStringConvertible {
    /// One line of printable text.
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
