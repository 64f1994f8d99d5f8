import AgentModel

/// Configuration from router advertisements: name servers and search domains (RFC 8106), captive portal (RFC 8910) and
/// NAT64 prefixes (RFC 8781). The kernel handles prefixes and routes.
///
/// This value takes options with their time, and returns the valid configuration. It limits the numbers of routers and
/// entries.
public struct RouterAdvertisements: Sendable {
    private var routers: [Router] = []
    private var reported: Set<Flaw> = []

    fileprivate struct Router: Hashable, Sendable {
        let address: IPAddress
        var nameServers: [Entry<IPAddress>] = []
        var domains: [Entry<String>] = []
        var prefixes: [Entry<NAT64Prefix>] = []
        var portal: Entry<String>?

        var isEmpty: Bool { nameServers.isEmpty && domains.isEmpty && prefixes.isEmpty && portal == nil }
        var ends: [Instant] {
            nameServers.map(\.end) + domains.map(\.end) + prefixes.map(\.end) + (portal.map { [$0.end] } ?? [])
        }
    }

    fileprivate struct Entry<Value: Hashable & Sendable>: Hashable, Sendable {
        let value: Value
        var end: Instant
    }

    /// Invalid part of an advertisement, ignored. Each is reported once in a network.
    public enum Flaw: Hashable, Sendable, CustomStringConvertible {
        /// The length of the option, or a length in it, is wrong.
        case malformed(option: UInt8)
        case badHost(IPAddress)
        case badPrefix
        case badPortal
        /// There are too many routers. Ignores the options of this one until all options of another router have
        /// expired.
        case tooManyRouters
        case tooMany(option: UInt8)

        public var description: String {
            let what =
                switch self {
                case .malformed(let option): "option \(option) is malformed"
                case .badHost(let host): "not an address of a name server: \(host)"
                case .badPrefix: "the NAT64 prefix cannot be used"
                case .badPortal: "the captive portal's address is not https"
                case .tooManyRouters: "options of more than \(mostRouters) routers"
                case .tooMany(let option): "option \(option) has too many entries"
                }
            return "router advertisement: ignoring a part: \(what)"
        }
    }

    static let mostRouters = 8
    /// Lifetime of a portal, which the option does not give: the maximum lifetime of a router by default (RFC 4861,
    /// 6.2.1, `AdvDefaultLifetime`).
    static let portalTime = Duration.seconds(9000)
    /// Maximum lifetime in seconds. Longer ones are cut.
    static let longest: UInt32 = 7 * 86_400

    public init() {}

    /// Earliest expiry of a router's announcements.
    public var deadline: Instant? { routers.flatMap(\.ends).min() }

    /// Valid configuration, in the order in which the routers were first heard.
    public var configuration: NetworkConfiguration {
        routers.reduce(NetworkConfiguration()) { all, router in
            var own = NetworkConfiguration()
            own.nameServers = router.nameServers.map(\.value)
            own.searchDomains = router.domains.map(\.value)
            own.nat64Prefixes = router.prefixes.map(\.value)
            own.portal = router.portal?.value
            return all.joined(with: own)
        }
    }

    public mutating func removeAll() { self = RouterAdvertisements() }

    public mutating func expire(at now: Instant) {
        for index in routers.indices {
            routers[index].nameServers.removeAll { $0.end <= now }
            routers[index].domains.removeAll { $0.end <= now }
            routers[index].prefixes.removeAll { $0.end <= now }
            if let portal = routers[index].portal, portal.end <= now { routers[index].portal = nil }
        }
        routers.removeAll(where: \.isEmpty)
    }

    /// Parses an option, starting with its type and length (RFC 4861, 4.6), from a router's link-local address. Returns
    /// flaws that have not been reported yet.
    public mutating func receive(_ option: [UInt8], from router: IPAddress, at now: Instant) -> [Flaw] {
        expire(at: now)
        guard router.isLinkLocal, router.family == .ipv6, let type = option.first else { return [] }
        let isNew = !routers.contains { $0.address == router }
        guard !isNew || routers.count < Self.mostRouters else { return unreported([.tooManyRouters]) }
        var own = routers.first { $0.address == router } ?? Router(address: router)
        let flaws =
            option.count >= 8 && option.count == Int(option[1]) * 8
            ? own.apply(type, Array(option.dropFirst(2)), at: now) : [.malformed(option: type)]
        if let index = routers.firstIndex(where: { $0.address == router }) {
            routers[index] = own
        } else {
            routers.append(own)
        }
        expire(at: now)
        return unreported(flaws)
    }

    private mutating func unreported(_ flaws: [Flaw]) -> [Flaw] {
        flaws.filter { reported.count < 32 && reported.insert($0).inserted }
    }
}

extension RouterAdvertisements.Router {
    /// - Parameter value: Bytes after type and length, at least six.
    fileprivate mutating func apply(_ type: UInt8, _ value: [UInt8], at now: Instant) -> [RouterAdvertisements.Flaw] {
        switch type {
        case 25: return applyNameServers(value, at: now)
        case 31: return applyDomains(value, at: now)
        case 37: return applyPortal(value, at: now)
        case 38: return applyPrefix(value, at: now)
        default: return []
        }
    }

    private mutating func applyNameServers(_ value: [UInt8], at now: Instant) -> [RouterAdvertisements.Flaw] {
        let list = value.dropFirst(6)
        guard let end = Self.end(value.dropFirst(2).prefix(4), at: now), !list.isEmpty, list.count.isMultiple(of: 16)
        else { return [.malformed(option: 25)] }
        var flaws: [RouterAdvertisements.Flaw] = []
        for place in stride(from: list.startIndex, to: list.endIndex, by: 16) {
            guard let host = IPAddress(bytes: list[place..<(place + 16)]) else { continue }
            if !host.isIPv6Host {
                flaws.append(.badHost(host))
            } else if !Self.set(host, until: end, in: &nameServers) {
                flaws.append(.tooMany(option: 25))
            }
        }
        return flaws
    }

    private mutating func applyDomains(_ value: [UInt8], at now: Instant) -> [RouterAdvertisements.Flaw] {
        // Removes the padding, but keeps the end of the last name.
        let names = value.dropFirst(6).reversed().drop { $0 == 0 }.reversed() + [0]
        guard let end = Self.end(value.dropFirst(2).prefix(4), at: now), let list = DomainNames.list(names) else {
            return [.malformed(option: 31)]
        }
        return list.allSatisfy { Self.set($0, until: end, in: &domains) } ? [] : [.tooMany(option: 31)]
    }

    private mutating func applyPortal(_ value: [UInt8], at now: Instant) -> [RouterAdvertisements.Flaw] {
        switch CaptivePortalOption(value) {
        case .address(let text): portal = .init(value: text, end: now + RouterAdvertisements.portalTime)
        case .unrestricted: portal = nil
        case .malformed: return [.badPortal]
        }
        return []
    }

    private mutating func applyPrefix(_ value: [UInt8], at now: Instant) -> [RouterAdvertisements.Flaw] {
        let lengths = [96, 64, 56, 48, 40, 32]
        guard value.count == 14, let number = UInt16(bytes: value.prefix(2)) else { return [.malformed(option: 38)] }
        // Lifetime in units of 8 s, and the prefix length code (RFC 8781, 4).
        let seconds = UInt32(number & ~7)
        guard lengths.indices.contains(Int(number & 7)), let address = IPAddress(bytes: value[2...] + [0, 0, 0, 0]),
            let prefix = NAT64Prefix(address, length: lengths[Int(number & 7)])
        else { return [.badPrefix] }
        return Self.set(prefix, until: now + .seconds(seconds), in: &prefixes) ? [] : [.tooMany(option: 38)]
    }

    /// - Parameter bytes: Lifetime in seconds.
    private static func end(_ bytes: some Collection<UInt8>, at now: Instant) -> Instant? {
        UInt32(bytes: bytes).map { now + .seconds(min($0, RouterAdvertisements.longest)) }
    }

    /// Sets the end of an entry. Returns false if the list is full.
    private static func set<Value>(
        _ value: Value, until end: Instant, in list: inout [RouterAdvertisements.Entry<Value>]
    ) -> Bool {
        if let index = list.firstIndex(where: { $0.value == value }) {
            list[index].end = end
        } else if list.count < NetworkConfiguration.most {
            list.append(.init(value: value, end: end))
        } else {
            return false
        }
        return true
    }
}

/// Schedule of router solicitations. Linux sends them only when an interface comes up, not after a change of network.
public struct RouterSearch: Hashable, Sendable {
    private var sent = 0
    private var next: Instant?

    public init() {}

    /// Time to call ``due(at:using:)``; nil if stopped.
    public var deadline: Instant? { next }

    /// Starts the schedule, in a network or at another access point.
    public mutating func begin(at now: Instant) { (sent, next) = (0, now) }
    /// Stops the schedule after a router's answer, or when the link is down.
    public mutating func end() { next = nil }

    /// - Returns: true if a solicitation must be sent now.
    public mutating func due(at now: Instant, using generator: inout some RandomNumberGenerator) -> Bool {
        guard let next, next <= now else { return false }
        sent += 1
        // Uses the quick waits of DHCP, then those of RFC 7559, 2.
        self.next = now + DHCPv6Timing.wait(after: sent, last: .seconds(3600), using: &generator)
        return true
    }
}
