import AgentModel

/// Problem of a server or neighbour, for the user. Each is reported once until the next renewal.
public enum DHCPProblem: Hashable, Sendable {
    /// No server has answered the quick retransmissions.
    case noAnswer
    case unreadable(DHCPMessageError)
    case badPacket(UDPDatagramError)
    case refused(LeaseError)
    /// Invalid part of an otherwise valid lease, ignored.
    case flaw(LeaseFlaw)
    /// Answer with an unknown or outdated transaction ID.
    case otherTransaction
    /// Answer to this device with another client identifier (RFC 6842).
    case otherClient
    case otherServer(IPv4Address?)
    case otherAddress(IPv4Address)
    /// NAK from another server, overruled by an ACK. The client waits briefly for the server of the lease before it
    /// accepts such a NAK.
    case strangersNAK(server: IPv4Address?)
    case nak(server: IPv4Address?, text: String)
    /// FORCERENEW (RFC 3203), ignored: without authentication any host could send it.
    case forceRenew
    /// Another host answers at the gateway's address: this is another network.
    case otherGateway(HardwareAddress)
    case conflict(IPv4Address, HardwareAddress)
    /// Another host keeps claiming the device's address.
    case claimed(IPv4Address, HardwareAddress)
    /// A host answers ARP for every address. Its claims are ignored.
    case answersForAll(HardwareAddress)
    /// The stored lease is invalid.
    case badMemory(LeaseError)
}

extension DHCPProblem {
    /// Problem without values that a stranger can vary, so that a flood of answers is reported once.
    var topic: DHCPProblem {
        switch self {
        case .otherServer: .otherServer(nil)
        case .otherAddress: .otherAddress(.unspecified)
        case .nak: .nak(server: nil, text: "")
        case .refused(.badAddress): .refused(.badAddress(.unspecified))
        case .refused(.badMask): .refused(.badMask(.unspecified))
        case .refused(.badGateway):
            .refused(.badGateway(.unspecified, outside: Subnet(of: .unspecified, prefixLength: 0)))
        case .refused(.badServer): .refused(.badServer(.unspecified))
        case .refused(.tooShort): .refused(.tooShort(0))
        case .flaw(.badHost(let option, _)): .flaw(.badHost(option, .unspecified))
        case .flaw(.badRoute): .flaw(.badRoute(Subnet(of: .unspecified, prefixLength: 0)))
        case .flaw(.longLease): .flaw(.longLease(0))
        case .flaw(.smallMTU): .flaw(.smallMTU(0))
        case .otherGateway: .otherGateway(.zero)
        case .claimed(let address, _): .claimed(address, .zero)
        default: self
        }
    }
}

extension DHCPProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noAnswer: "DHCP: no server answers"
        case .unreadable(let error): "DHCP: an unreadable message (\(error.summary))"
        case .badPacket(let error): "DHCP: a packet with a contradicting header (\(error))"
        case .refused(let error): "DHCP: an answer is refused: \(error)"
        case .flaw(let flaw): "DHCP: \(flaw); the device does without"
        case .otherTransaction: "DHCP: an answer to another question is refused"
        case .otherClient: "DHCP: an answer for another client is refused"
        case .otherServer(let server):
            "DHCP: an answer from another server is refused (\(server?.description ?? "none"))"
        case .otherAddress(let address): "DHCP: an answer with another address is refused (\(address))"
        case .strangersNAK(let server):
            "DHCP: the address stays, though another server refuses it (\(server?.description ?? "none"))"
        case .nak(let server, let text):
            "DHCP: the server \(server?.description ?? "without a name") refuses the address"
                + (text.isEmpty ? "" : ": \(text)")
        case .forceRenew: "DHCP: FORCERENEW is refused"
        case .otherGateway(let hardware): "ARP: the gateway's address is at \(hardware) now: this is another network"
        case .conflict(let address, let hardware): "ARP: \(address) is in use by \(hardware)"
        case .claimed(let address, let hardware):
            "ARP: \(hardware) claims \(address) again and again; the device keeps the address"
        case .answersForAll(let hardware): "ARP: \(hardware) answers for every address and is not believed"
        case .badMemory(let error): "DHCP: the remembered lease is not used: \(error)"
        }
    }
}

extension DHCPMessageError {
    fileprivate var summary: String {
        switch self {
        case .badLength: "length"
        case .badHeader: "header"
        case .noOptions: "no options"
        case .truncatedOption(let option): "option \(option.rawValue) is cut off"
        case .noKind: "no kind of message"
        case .badOverload: "option 52"
        }
    }
}
