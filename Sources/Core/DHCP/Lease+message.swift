import AgentModel

/// Invalid part of an otherwise valid lease, ignored.
public enum LeaseFlaw: Hashable, Sendable {
    case malformed(DHCPOption)
    /// The option came more than once. The first value counts.
    case repeated(DHCPOption)
    /// No lease time: the client takes ``Lease/usual``, an hour.
    case noLeaseTime
    /// Lease time in seconds. The client extends it to ``Lease/shortest``.
    case shortLease(UInt32)
    /// No server identifier: the client takes the sender.
    case noServer
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
        case .repeated(let option): "option \(option.rawValue) comes more than once"
        case .noLeaseTime: "no lease time; using \(Lease.usual) s"
        case .shortLease(let seconds): "a lease time below \(Lease.shortest) s: \(seconds) s"
        case .noServer: "no server identifier; using the sender's address"
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

    /// Parses a server's answer. Refuses addresses that no host can have; what nothing needs, or has a usual value, may
    /// be missing or malformed.
    /// - Parameter begin: Time of the request, from which the lease counts (RFC 2131, 4.4.1).
    static func read(
        _ message: DHCPMessage, from begin: Instant
    ) throws(LeaseError) -> (lease: Lease, flaws: [LeaseFlaw]) {
        var reader = LeaseReader(options: message.options)
        let lease = try reader.read(message, from: begin)
        return (lease, reader.flaws)
    }
}

private struct LeaseReader {
    let options: DHCPOptions
    var flaws: [LeaseFlaw] = []

    mutating func read(_ message: DHCPMessage, from begin: Instant) throws(LeaseError) -> Lease {
        flaws = Self.lengths.filter { options.isRepeated($0, length: $1) }.map { .repeated($0.0) }
        let times = times()
        if optional(options.address(.serverIdentifier))?.isHost != true { flaws.append(.noServer) }
        let address = message.yourAddress
        var lease = Lease(
            address: address, prefixLength: try prefixLength(of: address), gateway: nil,
            server: message.server ?? .unspecified,
            renewal: begin + .seconds(times.renewal), rebinding: begin + .seconds(times.rebinding),
            expiry: begin + .seconds(times.lease), hardware: message.hardware)
        if let value = options[.routes], let list = Self.routes(value) {
            // The routes option replaces the routers option (RFC 3442).
            readRoutes(list, into: &lease)
        } else {
            if options[.routes] != nil { flaws.append(.malformed(.routes)) }
            let routers = optional(options.addresses(.routers)) ?? []
            for bad in routers where !bad.isHost { flaws.append(.badHost(.routers, bad)) }
            lease.gateway = routers.first(where: lease.isOnLink) ?? routers.first(where: lease.canReach)
        }
        try lease.checkAddresses()
        lease.nameServers = servers(.nameServers)
        lease.timeServers = servers(.timeServers)
        lease.searchDomains = domains()
        lease.mtu = mtu()
        lease.portal = portal()
        lease.isMetered = options[.vendorInformation].map(Self.saysMetered) ?? false
        return lease
    }

    /// Lengths in bytes of the options that have one value.
    private static let lengths: [(DHCPOption, Int)] = [
        (.subnetMask, 4), (.leaseTime, 4), (.serverIdentifier, 4), (.renewalTime, 4), (.rebindingTime, 4), (.mtu, 2),
    ]

    private mutating func optional<Value>(_ value: Result<Value?, DHCPOptionError>) -> Value? {
        do { return try value.get() } catch {
            flaws.append(.malformed(error.option))
            return nil
        }
    }

    private mutating func prefixLength(of address: IPv4Address) throws(LeaseError) -> Int {
        guard let mask = optional(options.address(.subnetMask)) else {
            return Subnet.prefixLength(ofClassOf: address)
        }
        guard let length = Subnet.prefixLength(ofMask: mask), length >= 8 else { throw .badMask(mask) }
        return length
    }

    // MARK: Times

    /// Reads the renewal times in seconds, in ascending order.
    private mutating func times() -> (renewal: Int, rebinding: Int, lease: Int) {
        let said = optional(options.number(.leaseTime, as: UInt32.self))
        if said == nil { flaws.append(.noLeaseTime) }
        let seconds = said ?? UInt32(Lease.usual)
        let lease = max(Lease.shortest, min(Int(seconds), Lease.longest))
        let isCut = lease != Int(seconds)
        if isCut { flaws.append(lease < seconds ? .longLease(seconds) : .shortLease(seconds)) }
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
        lease.gateway = list.first { $0.destination.prefixLength == 0 && lease.canReach($0.gateway) }?.gateway
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

    /// Mark that Android's hotspots send in option 43 and Android's DHCP client looks for. It needs no vendor class.
    private static let meteredMark = Array("ANDROID_METERED".utf8)

    /// - Parameter value: Vendor-specific information. The mark may be anywhere in it.
    private static func saysMetered(_ value: [UInt8]) -> Bool {
        value.indices.contains { value[$0...].starts(with: meteredMark) }
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
