import AgentModel

/// Network configuration except addresses, from DHCP and router advertisements.
public struct NetworkConfiguration: Hashable, Sendable {
    /// Name servers in order of use. Link-local addresses refer to the network's interface.
    public var nameServers: [IPAddress] = []
    public var searchDomains: [String] = []
    public var timeServers: [IPAddress] = []
    /// Captive portal API (RFC 8908): https URL in printable ASCII.
    public var portal: String?
    /// NAT64 prefixes (RFC 8781).
    public var nat64Prefixes: [NAT64Prefix] = []

    public init() {}

    /// Maximum number of entries of each kind.
    static let most = 8

    /// Merges two configurations. Puts the values of `self` before those of `other`.
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

/// NAT64 prefix (RFC 6052, 2.2).
public struct NAT64Prefix: Hashable, Sendable, CustomStringConvertible {
    /// Address whose bits after the prefix are all zero.
    public let address: IPAddress
    /// Prefix length: 32, 40, 48, 56, 64 or 96.
    public let length: Int

    /// - Parameter address: Bits after the prefix are ignored. IPv4 and invalid prefixes return nil.
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

/// Value of a captive portal option (RFC 8910, 2).
enum CaptivePortalOption: Equatable {
    case address(String)
    /// The network has no captive portal.
    case unrestricted
    case malformed

    /// - Parameter value: Trailing zeros are ignored.
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
    /// Whether a name or time server can have this address.
    var isIPv6Host: Bool { family == .ipv6 && !isUnspecified && !isLoopback && !isMulticast }
}
