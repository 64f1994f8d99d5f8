import AgentModel

/// What a network tells a device that joins it beside its addresses, by DHCP and router advertisements together.
public struct NetworkConfiguration: Hashable, Sendable {
    /// In the order in which they are to be asked. A link-local one is meant on the interface of the network.
    public var nameServers: [IPAddress] = []
    /// Where short names are looked for.
    public var searchDomains: [String] = []
    public var timeServers: [IPAddress] = []
    /// The network's captive portal API (RFC 8908): https and printable ASCII.
    public var portal: String?
    /// By which hosts of IPv4 are reached from IPv6 (RFC 8781).
    public var nat64Prefixes: [NAT64Prefix] = []

    public init() {}

    /// Servers and names of each kind; more are left out.
    static let most = 8

    /// This first, then what the other has beside it.
    public func joined(with other: NetworkConfiguration) -> NetworkConfiguration {
        func joined<Value: Equatable>(_ first: [Value], _ second: [Value], most: Int = Self.most) -> [Value] {
            var values: [Value] = []
            for value in first + second where values.count < most && !values.contains(value) { values.append(value) }
            return values
        }
        var all = self
        all.nameServers = joined(nameServers, other.nameServers)
        all.searchDomains = joined(searchDomains, other.searchDomains, most: DomainNames.most)
        all.timeServers = joined(timeServers, other.timeServers)
        all.nat64Prefixes = joined(nat64Prefixes, other.nat64Prefixes)
        all.portal = portal ?? other.portal
        return all
    }
}

/// A prefix in whose addresses a translator finds those of IPv4 (RFC 6052, 2.2).
public struct NAT64Prefix: Hashable, Sendable, CustomStringConvertible {
    /// All bits beyond the prefix are zero.
    public let address: IPAddress
    /// 32, 40, 48, 56, 64 or 96.
    public let length: Int

    /// - Parameter address: what is beyond the prefix does not count.
    /// - Returns: nil for another length, for IPv4, and for a prefix that no host's address can have.
    public init?(_ address: IPAddress, length: Int) {
        guard address.family == .ipv6, [32, 40, 48, 56, 64, 96].contains(length), !address.isMulticast,
            !address.isLinkLocal,
            let network = IPAddress(
                bytes: address.bytes.prefix(length / 8) + Array(repeating: 0, count: 16 - length / 8)),
            network.family == .ipv6, !network.isUnspecified
        else { return nil }
        (self.address, self.length) = (network, length)
    }

    public var description: String { "\(address)/\(length)" }
}

/// The address of a captive portal API as networks tell it (RFC 8910, 2).
enum CaptivePortal: Equatable {
    case address(String)
    /// The network says that it has none.
    case unrestricted
    /// No text, or no https.
    case malformed

    /// - Parameter value: may end with zeros.
    init(_ value: some Collection<UInt8>) {
        let text = String(decoding: Array(value).reversed().drop { $0 == 0 }.reversed(), as: UTF8.self)
        let scheme = "https://"
        if text == "urn:ietf:params:capport:unrestricted" {
            self = .unrestricted
        } else if text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), text.utf8.count > scheme.utf8.count,
            text.prefix(scheme.count).lowercased() == scheme
        {
            self = .address(text)
        } else {
            self = .malformed
        }
    }
}

extension IPAddress {
    /// Whether a name or time server can have it, on the link or beyond.
    var isIPv6Host: Bool { family == .ipv6 && !isUnspecified && !isLoopback && !isMulticast }
}
