import AgentModel

/// What the routers of a network say beside prefixes and routes, which are the kernel's affair: name servers and search
/// domains (RFC 8106), the captive portal (RFC 8910), and the prefix of the translator to IPv4 (RFC 8781).
///
/// A value: options go in with their time, and it tells what holds. It forgets what has ended, and keeps so many routers
/// and so many things of each at most.
public struct RouterAdvertisements: Sendable {
    private var routers: [Router] = []
    private var told: Set<Flaw> = []

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

    /// Something that a router says and the device does without. Each is told once in a network.
    public enum Flaw: Hashable, Sendable, CustomStringConvertible {
        /// The option's length, or a length in it.
        case malformed(option: UInt8)
        /// No name server can have the address.
        case badHost(IPAddress)
        case badPrefix
        case badPortal
        case tooManyRouters
        case tooMany(option: UInt8)

        /// One line of printable text.
        public var description: String {
            let what =
                switch self {
                case .malformed(let option): "option \(option) is malformed"
                case .badHost(let host): "no name server can have the address \(host)"
                case .badPrefix: "the prefix of the translator cannot be used"
                case .badPortal: "the captive portal's address is no https address"
                case .tooManyRouters: "more than \(mostRouters) routers"
                case .tooMany(let option): "option \(option) has more than is taken"
                }
            return "router advertisement: \(what); the device does without"
        }
    }

    static let mostRouters = 8
    /// Of a portal, which has no time of its own: the longest that a router may be without a word
    /// (RFC 4861, 6.2.1, `AdvDefaultLifetime`).
    static let portalTime = Duration.seconds(9000)
    /// Longer times count as this long.
    static let longest: UInt32 = 7 * 86_400

    public init() {}

    /// When the next thing ends.
    public var deadline: Instant? { routers.flatMap(\.ends).min() }

    /// What holds: of the router first that was heard first.
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

    /// The network is another one.
    public mutating func removeAll() { self = RouterAdvertisements() }

    /// Forgets what has ended.
    public mutating func expire(at now: Instant) {
        for index in routers.indices {
            routers[index].nameServers.removeAll { $0.end <= now }
            routers[index].domains.removeAll { $0.end <= now }
            routers[index].prefixes.removeAll { $0.end <= now }
            if let portal = routers[index].portal, portal.end <= now { routers[index].portal = nil }
        }
        routers.removeAll(where: \.isEmpty)
    }

    /// - Parameters:
    ///   - option: with its type and length (RFC 4861, 4.6).
    ///   - router: its link-local address.
    /// - Returns: what is told the first time.
    public mutating func hear(_ option: [UInt8], from router: IPAddress, at now: Instant) -> [Flaw] {
        expire(at: now)
        guard router.isLinkLocal, router.family == .ipv6, let type = option.first else { return [] }
        let isNew = !routers.contains { $0.address == router }
        guard !isNew || routers.count < Self.mostRouters else { return tell([.tooManyRouters]) }
        var own = routers.first { $0.address == router } ?? Router(address: router)
        let flaws =
            option.count >= 8 && option.count == Int(option[1]) * 8
            ? own.take(type, Array(option.dropFirst(2)), at: now) : [.malformed(option: type)]
        if let index = routers.firstIndex(where: { $0.address == router }) {
            routers[index] = own
        } else {
            routers.append(own)
        }
        expire(at: now)
        return tell(flaws)
    }

    private mutating func tell(_ flaws: [Flaw]) -> [Flaw] {
        flaws.filter { told.count < 32 && told.insert($0).inserted }
    }
}

extension RouterAdvertisements.Router {
    /// - Parameter value: what is behind the length; at least six bytes.
    fileprivate mutating func take(_ type: UInt8, _ value: [UInt8], at now: Instant) -> [RouterAdvertisements.Flaw] {
        switch type {
        case 25: return takeNameServers(value, at: now)
        case 31: return takeDomains(value, at: now)
        case 37: return takePortal(value, at: now)
        case 38: return takePrefix(value, at: now)
        default: return []
        }
    }

    private mutating func takeNameServers(_ value: [UInt8], at now: Instant) -> [RouterAdvertisements.Flaw] {
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

    private mutating func takeDomains(_ value: [UInt8], at now: Instant) -> [RouterAdvertisements.Flaw] {
        // Zeros fill it up behind the one that ends the last name.
        let names = value.dropFirst(6).reversed().drop { $0 == 0 }.reversed() + [0]
        guard let end = Self.end(value.dropFirst(2).prefix(4), at: now), let list = DomainNames.list(names) else {
            return [.malformed(option: 31)]
        }
        return list.allSatisfy { Self.set($0, until: end, in: &domains) } ? [] : [.tooMany(option: 31)]
    }

    private mutating func takePortal(_ value: [UInt8], at now: Instant) -> [RouterAdvertisements.Flaw] {
        switch CaptivePortal(value) {
        case .address(let text): portal = .init(value: text, end: now + RouterAdvertisements.portalTime)
        case .unrestricted: portal = nil
        case .malformed: return [.badPortal]
        }
        return []
    }

    private mutating func takePrefix(_ value: [UInt8], at now: Instant) -> [RouterAdvertisements.Flaw] {
        let lengths = [96, 64, 56, 48, 40, 32]
        guard value.count == 14, let number = UInt16(bytes: value.prefix(2)) else { return [.malformed(option: 38)] }
        // The time in units of eight seconds, and the number of the length (RFC 8781, 4).
        let seconds = UInt32(number & ~7)
        guard lengths.indices.contains(Int(number & 7)), let address = IPAddress(bytes: value[2...] + [0, 0, 0, 0]),
            let prefix = NAT64Prefix(address, length: lengths[Int(number & 7)])
        else { return [.badPrefix] }
        return Self.set(prefix, until: now + .seconds(seconds), in: &prefixes) ? [] : [.tooMany(option: 38)]
    }

    /// - Parameter bytes: seconds; all ones is for ever.
    private static func end(_ bytes: some Collection<UInt8>, at now: Instant) -> Instant? {
        UInt32(bytes: bytes).map { now + .seconds(min($0, RouterAdvertisements.longest)) }
    }

    /// What ends now goes when the caller lets expire.
    /// - Returns: false where there is no room.
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

/// When routers are asked for their advertisements. Linux asks when an interface is set up, and not when it comes to
/// another network.
public struct RouterSearch: Hashable, Sendable {
    private var sent = 0
    private var next: Instant?

    public init() {}

    /// When to call ``due(at:using:)``; nil where nothing is to be asked.
    public var deadline: Instant? { next }

    /// The device is in a network, or at another access point.
    public mutating func begin(at now: Instant) { (sent, next) = (0, now) }
    /// A router has answered, or the link is down.
    public mutating func end() { next = nil }

    /// - Returns: whether to ask now.
    public mutating func due(at now: Instant, using generator: inout some RandomNumberGenerator) -> Bool {
        guard let next, next <= now else { return false }
        sent += 1
        // The quick ones of DHCP; then RFC 7559, 2.
        self.next = now + DHCPv6Timing.wait(after: sent, last: .seconds(3600), using: &generator)
        return true
    }
}
