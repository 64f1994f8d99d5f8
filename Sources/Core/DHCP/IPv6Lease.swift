import AgentModel

/// Addresses and configuration from a DHCPv6 server.
public struct IPv6Lease: Hashable, Sendable {
    /// Addresses of the lease, 1 to 4.
    public var addresses: [Address]
    /// DUID of the server, 3 to 130 bytes.
    public var server: [UInt8]
    /// Time T1, at which the client renews with the same server.
    public var renewal: Instant
    /// Time T2, at which the client rebinds with any server.
    public var rebinding: Instant
    public var hardware: HardwareAddress
    public var configuration = NetworkConfiguration()

    public struct Address: Hashable, Sendable {
        public let address: IPAddress
        /// End of use for new connections.
        public let preferredUntil: Instant
        public let validUntil: Instant

        public init(_ address: IPAddress, preferredUntil: Instant, validUntil: Instant) {
            (self.address, self.preferredUntil, self.validUntil) = (address, preferredUntil, validUntil)
        }
    }

    public init(
        addresses: [Address], server: [UInt8], renewal: Instant, rebinding: Instant, hardware: HardwareAddress
    ) {
        (self.addresses, self.server, self.hardware) = (addresses, server, hardware)
        (self.renewal, self.rebinding) = (renewal, rebinding)
    }

    /// Time when the last address expires. The kernel removes each address when that address expires.
    public var expiry: Instant { addresses.map(\.validUntil).max() ?? renewal }
}

public enum IPv6LeaseError: Error, Hashable, Sendable {
    case missing(DHCPv6Option)
    case malformed(DHCPv6Option)
    /// The server reports a failure.
    case status(DHCPv6Status)
    case badAddress(IPAddress)
    /// The preferred lifetime exceeds the valid one (RFC 8415, 21.6).
    case badLifetimes(IPAddress)
    /// The lease, in seconds, is below the minimum.
    case tooShort(UInt32)
    case noAddress
}

/// Invalid part of an answer, ignored.
public enum IPv6LeaseFlaw: Hashable, Sendable {
    case malformed(DHCPv6Option)
    case badHost(DHCPv6Option, IPAddress)
    case tooMany(DHCPv6Option)
    /// One of several addresses is invalid.
    case refused(IPv6LeaseError)
    /// T1 and T2 are inconsistent with the lease.
    case badTimes
    case badPortal
}

extension IPv6LeaseError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .missing(let option): "option \(option.rawValue) is missing"
        case .malformed(let option): "option \(option.rawValue) is malformed"
        case .status(let status): "the server says: \(status)"
        case .badAddress(let address): "no host can have the address \(address)"
        case .badLifetimes(let address): "the preferred lifetime is longer than the valid one: \(address)"
        case .tooShort(let seconds): "a lease of \(seconds) s is shorter than \(IPv6Lease.shortest) s"
        case .noAddress: "it has no address"
        }
    }
}

extension IPv6LeaseFlaw: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let option): "option \(option.rawValue) is malformed"
        case .badHost(let option, let address): "option \(option.rawValue): no host can have the address \(address)"
        case .tooMany(let option): "option \(option.rawValue) has too many entries"
        case .refused(let error): "an additional address: \(error)"
        case .badTimes: "the renewal and rebinding times contradict the lease"
        case .badPortal: "the captive portal's address is not https"
        }
    }
}

extension IPv6Lease {
    static let shortest: UInt32 = 10
    /// Maximum lease in seconds, as for IPv4. Longer leases are cut.
    static let longest: UInt32 = 7 * 86_400
    static let mostAddresses = 4
    static let serverLengths = 3...130

    /// Parses an ADVERTISE or a REPLY. `association` is the client's IAID; the lease counts from `start`.
    static func read(
        _ message: DHCPv6Message, association: UInt32, hardware: HardwareAddress, from start: Instant
    ) throws(IPv6LeaseError) -> (lease: IPv6Lease, flaws: [IPv6LeaseFlaw]) {
        guard message.options.status == .success else { throw .status(message.options.status) }
        guard let server = message.options[.serverIdentifier] else { throw .missing(.serverIdentifier) }
        guard serverLengths.contains(server.count) else { throw .malformed(.serverIdentifier) }
        let own = message.options.all(.association).first { UInt32(bytes: $0.prefix(4)) == association }
        guard let own else { throw .missing(.association) }
        var reader = try AddressReader(own, from: start)
        let (renewal, rebinding) = reader.times()
        var lease = IPv6Lease(
            addresses: reader.addresses, server: server, renewal: renewal, rebinding: rebinding, hardware: hardware)
        let (configuration, flaws) = NetworkConfiguration.read(message.options)
        lease.configuration = configuration
        return (lease, reader.flaws + flaws)
    }
}

/// Parser for an identity association (RFC 8415, 21.4 and 21.6).
private struct AddressReader {
    private(set) var addresses: [IPv6Lease.Address] = []
    private(set) var flaws: [IPv6LeaseFlaw] = []
    private let start: Instant
    private let renewal: UInt32
    private let rebinding: UInt32
    /// Minimum lifetimes in seconds.
    private var preferred = UInt32.max
    private var valid = UInt32.max

    init(_ value: [UInt8], from start: Instant) throws(IPv6LeaseError) {
        self.start = start
        guard let renewal = UInt32(bytes: value.dropFirst(4).prefix(4)),
            let rebinding = UInt32(bytes: value.dropFirst(8).prefix(4)),
            let options = try? DHCPv6Options(reading: value.dropFirst(12))
        else { throw .malformed(.association) }
        (self.renewal, self.rebinding) = (renewal, rebinding)
        guard options.status == .success else { throw .status(options.status) }
        var failure = IPv6LeaseError.noAddress
        var failures: [IPv6LeaseError] = []
        for value in options.all(.address) {
            do throws(IPv6LeaseError) { try readAddress(value) } catch {
                failure = error
                failures.append(error)
            }
        }
        guard !addresses.isEmpty else { throw failure }
        flaws += failures.map { .refused($0) }
    }

    private mutating func readAddress(_ value: [UInt8]) throws(IPv6LeaseError) {
        guard let address = IPAddress(bytes: value.prefix(16)),
            let preferred = UInt32(bytes: value.dropFirst(16).prefix(4)),
            let valid = UInt32(bytes: value.dropFirst(20).prefix(4)),
            let options = try? DHCPv6Options(reading: value.dropFirst(24))
        else { throw .malformed(.address) }
        guard options.status == .success else { throw .status(options.status) }
        guard address.isIPv6Host, !address.isLinkLocal else { throw .badAddress(address) }
        // The server revokes the address.
        guard valid > 0 else { throw .noAddress }
        guard preferred <= valid else { throw .badLifetimes(address) }
        guard valid >= IPv6Lease.shortest else { throw .tooShort(valid) }
        guard !addresses.contains(where: { $0.address == address }) else { return }
        guard addresses.count < IPv6Lease.mostAddresses else {
            if !flaws.contains(.tooMany(.address)) { flaws.append(.tooMany(.address)) }
            return
        }
        func moment(_ seconds: UInt32) -> Instant { start + .seconds(min(seconds, IPv6Lease.longest)) }
        addresses.append(
            IPv6Lease.Address(address, preferredUntil: moment(preferred), validUntil: moment(valid)))
        self.preferred = min(self.preferred, preferred)
        self.valid = min(self.valid, valid, IPv6Lease.longest)
    }

    /// T1 and T2: the server's, or 1/2 and 4/5 of the shortest preferred lifetime (RFC 8415, 21.4).
    mutating func times() -> (renewal: Instant, rebinding: Instant) {
        let base = Int64(min(preferred >= IPv6Lease.shortest ? preferred : valid, valid))
        let own = (start + .milliseconds(base * 500), start + .milliseconds(base * 800))
        // Zero and infinity leave the times to the client.
        guard ![0, .max].contains(renewal), ![0, .max].contains(rebinding) else { return own }
        guard renewal < rebinding, rebinding < valid, renewal >= min(60, valid / 2) else {
            flaws.append(.badTimes)
            return own
        }
        return (start + .seconds(renewal), start + .seconds(rebinding))
    }
}

extension NetworkConfiguration {
    static func read(_ options: DHCPv6Options) -> (NetworkConfiguration, flaws: [IPv6LeaseFlaw]) {
        var reader = ConfigurationReader(options: options)
        var configuration = NetworkConfiguration()
        configuration.nameServers = reader.hosts(.nameServers, options[.nameServers])
        configuration.timeServers = reader.timeServers()
        if let value = options[.searchDomains] {
            configuration.searchDomains = DomainNames.list(value) ?? []
            if configuration.searchDomains.isEmpty { reader.flaws.append(.malformed(.searchDomains)) }
        }
        switch options[.captivePortal].map({ CaptivePortalOption($0) }) {
        case .address(let text): configuration.portal = text
        case .malformed: reader.flaws.append(.badPortal)
        case .unrestricted, nil: break
        }
        return (configuration, reader.flaws)
    }
}

private struct ConfigurationReader {
    let options: DHCPv6Options
    var flaws: [IPv6LeaseFlaw] = []

    mutating func hosts(_ option: DHCPv6Option, _ value: [UInt8]?) -> [IPAddress] {
        guard let value else { return [] }
        guard !value.isEmpty, value.count.isMultiple(of: 16) else {
            flaws.append(.malformed(option))
            return []
        }
        var hosts: [IPAddress] = []
        for place in stride(from: 0, to: value.count, by: 16) {
            guard let host = IPAddress(bytes: value[place..<(place + 16)]) else { continue }
            if !host.isIPv6Host {
                flaws.append(.badHost(option, host))
            } else if hosts.count == NetworkConfiguration.most {
                flaws.append(.tooMany(option))
                break
            } else if !hosts.contains(host) {
                hosts.append(host)
            }
        }
        return hosts
    }

    /// Parses options 56 and 31. Multicast addresses and names in option 56 are ignored (RFC 5908, 4).
    mutating func timeServers() -> [IPAddress] {
        var servers: [IPAddress] = []
        if let value = options[.timeServers] {
            // Suboptions have the format of options.
            guard let parts = try? DHCPv6Options(reading: value) else {
                flaws.append(.malformed(.timeServers))
                return hosts(.simpleTimeServers, options[.simpleTimeServers])
            }
            servers = hosts(
                .timeServers,
                parts.all(DHCPv6Option(rawValue: 1)).filter { $0.count == 16 }.reduce(nil) { ($0 ?? []) + $1 })
        }
        return servers.isEmpty ? hosts(.simpleTimeServers, options[.simpleTimeServers]) : servers
    }
}
