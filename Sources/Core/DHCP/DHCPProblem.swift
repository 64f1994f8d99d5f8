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
        case .refused(.badGateway): .refused(.badGateway(.unspecified))
        case .refused(.badServer): .refused(.badServer(.unspecified))
        case .flaw(.badHost(let option, _)): .flaw(.badHost(option, .unspecified))
        case .flaw(.badRoute): .flaw(.badRoute(Subnet(of: .unspecified, prefixLength: 0)))
        case .flaw(.longLease): .flaw(.longLease(0))
        case .flaw(.shortLease): .flaw(.shortLease(0))
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
        case .unreadable(let error): "DHCP: unreadable message: \(error.summary)"
        case .badPacket(let error): "DHCP: inconsistent packet header: \(error)"
        case .refused(let error): "DHCP: ignoring an answer: \(error)"
        case .flaw(let flaw): "DHCP: taking an answer in spite of a flaw: \(flaw)"
        case .otherTransaction: "DHCP: ignoring an answer with an unknown transaction ID"
        case .otherClient: "DHCP: ignoring an answer for another client"
        case .otherServer(let server):
            "DHCP: ignoring an answer of another server: \(server?.description ?? "unnamed")"
        case .otherAddress(let address): "DHCP: ignoring an answer with another address: \(address)"
        case .strangersNAK(let server):
            "DHCP: keeping the address, ignoring a refusal of another server: \(server?.description ?? "unnamed")"
        case .nak(let server, let text):
            "DHCP: the address is refused by server \(server?.description ?? "unnamed")"
                + (text.isEmpty ? "" : ": \(text)")
        case .forceRenew: "DHCP: ignoring FORCERENEW"
        case .otherGateway(let hardware): "ARP: this is another network, the gateway's address is now at \(hardware)"
        case .conflict(let address, let hardware): "ARP: \(address) is in use by \(hardware)"
        case .claimed(let address, let hardware):
            "ARP: keeping \(address), which is repeatedly claimed by \(hardware)"
        case .answersForAll(let hardware): "ARP: ignoring a host that answers for every address: \(hardware)"
        case .badMemory(let error): "DHCP: ignoring the stored lease: \(error)"
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
        case .noKind: "no message type"
        }
    }
}
