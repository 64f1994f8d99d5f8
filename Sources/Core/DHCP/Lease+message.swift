import AgentModel

/// Invalid part of an otherwise valid lease, ignored.
public enum LeaseFlaw: Hashable, Sendable {
    case malformed(DHCPOption)
    /// MTU in bytes, below IPv6's minimum.
    case smallMTU(Int)
    /// T1 and T2 are inconsistent with the lease.
    case badTimes
    /// Lease time in seconds. The client shortens it to ``Lease/longest``, a week.
    case longLease(UInt32)
    case badHost(DHCPOption, IPv4Address)
    case tooMany(DHCPOption)
    /// The destination is unusable or too large, the gateway is unreachable, or the route would replace an on-link one.
    case badRoute(Subnet)
    case badPortal
}

extension LeaseFlaw: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let option): "option \(option.rawValue) is malformed"
        case .smallMTU(let bytes): "an MTU below IPv6's minimum of \(Lease.smallestMTU) bytes: \(bytes)"
        case .badTimes: "the renewal and rebinding times contradict the lease"
        case .longLease(let seconds): "a lease time above \(Lease.longest) s: \(seconds) s"
        case .badHost(let option, let address): "option \(option.rawValue): no host can have the address \(address)"
        case .tooMany(let option): "option \(option.rawValue) has too many entries"
        case .badRoute(let destination): "the route to \(destination) cannot be used"
        case .badPortal: "the captive portal's address is not https"
        }
    }
}

extension Lease {
    /// Minimum MTU of IPv6 in bytes (RFC 8200, 5). Below it, Linux disables IPv6 on the link.
    static let smallestMTU = 1280
    /// Maximum number of servers of one kind, and of routes.
    static let mostServers = 8
    static let mostRoutes = 64

    /// Parses a server's answer. The lease counts from `begin`, the time of the request (RFC 2131, 4.4.1).
    static func read(
        _ message: DHCPMessage, from begin: Instant
    ) throws(LeaseError) -> (lease: Lease, flaws: [LeaseFlaw]) {
        var reader = LeaseReader(options: message.options)
        let lease = try reader.read(address: message.yourAddress, hardware: message.hardware, from: begin)
        return (lease, reader.flaws)
    }
}

private struct LeaseReader {
    let options: DHCPOptions
    var flaws: [LeaseFlaw] = []

    mutating func read(
        address: IPv4Address, hardware: HardwareAddress, from begin: Instant
    ) throws(LeaseError) -> Lease {
        let times = try times()
        guard let server = try required(options.address(.serverIdentifier))
        else { throw .missing(.serverIdentifier) }
        var lease = Lease(
            address: address, prefixLength: try prefixLength(of: address), gateway: nil, server: server,
            renewal: begin + .seconds(times.renewal), rebinding: begin + .seconds(times.rebinding),
            expiry: begin + .seconds(times.lease), hardware: hardware)
        if let value = options[.routes], let list = Self.routes(value) {
            // The routes option replaces the routers option (RFC 3442).
            readRoutes(list, into: &lease)
        } else {
            if options[.routes] != nil { flaws.append(.malformed(.routes)) }
            let routers = try required(options.addresses(.routers)) ?? []
            lease.gateway = routers.first(where: lease.isOnLink) ?? routers.first { $0 != .unspecified }
        }
        try lease.checkAddresses()
        lease.nameServers = servers(.nameServers)
        lease.timeServers = servers(.timeServers)
        lease.searchDomains = domains()
        lease.mtu = mtu()
        lease.portal = portal()
        return lease
    }

    /// Unwraps an option that the lease depends on. Throws if it is malformed.
    private func required<Value>(_ value: Result<Value?, DHCPOptionError>) throws(LeaseError) -> Value? {
        do { return try value.get() } catch { throw .malformed(error.option) }
    }

    private mutating func optional<Value>(_ value: Result<Value?, DHCPOptionError>) -> Value? {
        do { return try value.get() } catch {
            flaws.append(.malformed(error.option))
            return nil
        }
    }

    private func prefixLength(of address: IPv4Address) throws(LeaseError) -> Int {
        guard let mask = try required(options.address(.subnetMask)) else {
            return Subnet.prefixLength(ofClassOf: address)
        }
        guard let length = Subnet.prefixLength(ofMask: mask), length >= 8 else { throw .badMask(mask) }
        return length
    }

    // MARK: Times

    /// Reads the renewal times in seconds, in ascending order.
    private mutating func times() throws(LeaseError) -> (renewal: Int, rebinding: Int, lease: Int) {
        let seconds = try required(options.number(.leaseTime, as: UInt32.self))
        guard let seconds else { throw .missing(.leaseTime) }
        guard seconds >= Lease.shortest else { throw .tooShort(Int(seconds)) }
        let lease = min(Int(seconds), Lease.longest)
        let isCut = lease != Int(seconds)
        if isCut { flaws.append(.longLease(seconds)) }
        let usual = (renewal: lease / 2, rebinding: lease * 7 / 8, lease: lease)
        let saidRenewal = optional(options.number(.renewalTime, as: UInt32.self))
        let saidRebinding = optional(options.number(.rebindingTime, as: UInt32.self))
        let renewal = saidRenewal.map { Int($0) } ?? usual.renewal
        let rebinding = saidRebinding.map { Int($0) } ?? usual.rebinding
        // Rejects times that would make the device renew all the time.
        guard renewal >= min(60, usual.renewal), renewal < rebinding, rebinding < lease else {
            if !isCut { flaws.append(.badTimes) }
            return usual
        }
        return (renewal, rebinding, lease)
    }

    // MARK: Routes

    /// Parses option 121: each route is a compact prefix and a gateway. Returns nil if malformed.
    private static func routes(_ value: [UInt8]) -> [(destination: Subnet, gateway: IPv4Address)]? {
        var rest = value[...]
        var routes: [(Subnet, IPv4Address)] = []
        while let length = rest.popFirst() {
            let count = (Int(length) + 7) / 8
            guard length <= 32, rest.count >= count + 4,
                let network = IPv4Address(
                    bytes: Array(rest.prefix(count)) + [UInt8](repeating: 0, count: 4 - count)),
                let gateway = IPv4Address(bytes: rest.dropFirst(count).prefix(4))
            else { return nil }
            routes.append((Subnet(of: network, prefixLength: Int(length)), gateway))
            rest = rest.dropFirst(count + 4)
        }
        return routes.isEmpty ? nil : routes
    }

    private mutating func readRoutes(
        _ list: [(destination: Subnet, gateway: IPv4Address)], into lease: inout Lease
    ) {
        var routes: [Lease.Route] = []
        // Adds on-link routes first, because they can contain the gateways of the other routes.
        for (destination, gateway) in list where gateway == .unspecified {
            if Self.isUsable(destination) {
                routes.append(Lease.Route(to: destination, by: nil))
            } else {
                flaws.append(.badRoute(destination))
            }
        }
        lease.routes = Array(routes.prefix(Lease.mostRoutes))
        lease.gateway = list.first { $0.destination.prefixLength == 0 && $0.gateway != .unspecified }?.gateway
        for (destination, gateway) in list where gateway != .unspecified && destination.prefixLength > 0 {
            if Self.isUsable(destination), lease.isOnLink(gateway), !lease.isNeededOnLink(destination) {
                routes.append(Lease.Route(to: destination, by: gateway))
            } else {
                flaws.append(.badRoute(destination))
            }
        }
        if routes.count > Lease.mostRoutes { flaws.append(.tooMany(.routes)) }
        lease.routes = Array(routes.prefix(Lease.mostRoutes))
    }

    /// Rejects prefixes shorter than 8 bits: they would override the agent's choice of a default route.
    private static func isUsable(_ destination: Subnet) -> Bool {
        destination.prefixLength >= 8 && destination.network.isHost
    }

    // MARK: Services

    private mutating func servers(_ option: DHCPOption) -> [IPv4Address] {
        let said = optional(options.addresses(option)) ?? []
        for bad in said where !bad.isHost { flaws.append(.badHost(option, bad)) }
        let good = said.filter(\.isHost)
        if good.count > Lease.mostServers { flaws.append(.tooMany(option)) }
        return Array(good.prefix(Lease.mostServers))
    }

    private mutating func domains() -> [String] {
        for (option, read) in [(DHCPOption.searchDomains, DomainNames.list), (.domainName, DomainNames.words)] {
            guard let value = options[option] else { continue }
            if let names = read(value) { return names }
            flaws.append(.malformed(option))
        }
        return []
    }

    private mutating func mtu() -> Int? {
        let said = optional(options.number(.mtu, as: UInt16.self))
        guard let said else { return nil }
        guard said >= Lease.smallestMTU else {
            flaws.append(.smallMTU(Int(said)))
            return nil
        }
        return Int(said)
    }

    private mutating func portal() -> String? {
        guard let value = options[.captivePortal] else { return nil }
        switch CaptivePortalOption(value) {
        case .address(let text): return text
        case .unrestricted: return nil
        case .malformed:
            flaws.append(.badPortal)
            return nil
        }
    }
}
