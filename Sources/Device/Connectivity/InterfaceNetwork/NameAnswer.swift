import AgentModel
import DNS

/// What a name server says of a name.
struct NameAnswer: Equatable, Sendable {
    /// None if the name has no addresses of the kind asked for.
    let addresses: [IPAddress]
    /// In seconds: how long all of it holds.
    let timeToLive: UInt32

    static let maximumAddresses = 16
    static let longestChain = 8

    init(addresses: [IPAddress], timeToLive: UInt32) {
        self.addresses = addresses
        self.timeToLive = timeToLive
    }
}

extension NameAnswer {
    /// The addresses at the end of the chain of aliases that begins with the name asked for.
    ///
    /// One who asks on for others puts all of the chain into its answer (RFC 1034, 5.2.2); a chain that ends elsewhere leads
    /// to no address.
    /// - Throws: `malformed` where the chain leads round in a circle, or is too long to be meant.
    init(to question: DNSQuestion, in message: DNSMessage) throws(NameFailure) {
        var name = question.name
        var timeToLive = UInt32.max
        var links = 0
        while let alias = message.answers.first(where: { $0.name == name && $0.alias != nil }),
            let target = alias.alias
        {
            links += 1
            guard links <= Self.longestChain else { throw .malformed }
            name = target
            timeToLive = min(timeToLive, alias.timeToLive)
        }
        var addresses: [IPAddress] = []
        for record in message.answers where record.name == name {
            guard let address = record.address(of: question.type), !addresses.contains(address) else { continue }
            addresses.append(address)
            timeToLive = min(timeToLive, record.timeToLive)
            if addresses.count == Self.maximumAddresses { break }
        }
        self.init(addresses: addresses, timeToLive: addresses.isEmpty ? 0 : timeToLive)
    }
}

extension DNSRecord {
    fileprivate var alias: DNSName? {
        guard case .alias(let name) = data else { return nil }
        return name
    }

    fileprivate func address(of type: DNSRecordType) -> IPAddress? {
        switch data {
        case .ipv4(let bytes) where type == .ipv4, .ipv6(let bytes) where type == .ipv6: IPAddress(bytes: bytes)
        default: nil
        }
    }
}
