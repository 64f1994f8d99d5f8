import AgentModel

/// Something about a server or a neighbour that the owner may want to know. Each is told once until the next renewal.
public enum DHCPProblem: Hashable, Sendable {
    /// No server has answered a question and its quick repetitions.
    case noAnswer
    /// A packet that is no message of DHCP.
    case unreadable(DHCPMessageError)
    /// A packet whose header contradicts itself.
    case badPacket(UDPDatagramError)
    /// An offer or an address that is not taken.
    case refused(LeaseError)
    /// A thing beside an address that is not used.
    case flaw(LeaseFlaw)
    /// An answer for this device to a question that it has not asked, or not lately.
    case otherTransaction
    /// An answer that is addressed to this device and names another client (RFC 6842).
    case otherClient
    /// The answer comes from another server than the one that was asked.
    case otherServer(IPv4Address?)
    /// The server gives another address than the one that was asked for.
    case otherAddress(IPv4Address)
    /// The server says otherwise than the one that gave the lease, which may still say yes: it is believed a little later.
    case strangersNAK(server: IPv4Address?)
    /// The server takes back the address.
    case nak(server: IPv4Address?, text: String)
    /// FORCERENEW (RFC 3203): without a proof of its origin anyone in the network could send it.
    case forceRenew
    /// At the gateway's address another host answers: the device is in another network than it was told.
    case otherGateway(HardwareAddress)
    /// Another host has the address.
    case conflict(IPv4Address, HardwareAddress)
    /// Another host goes on to claim the address, which the device keeps.
    case claimed(IPv4Address, HardwareAddress)
    /// A host answers for every address. It is not believed about any.
    case answersForAll(HardwareAddress)
    /// The remembered lease cannot be taken up again.
    case badMemory(LeaseError)
}

extension DHCPProblem {
    /// The same without what a stranger can make up again and again: a storm of answers is one line.
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
    /// One line of printable text.
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
