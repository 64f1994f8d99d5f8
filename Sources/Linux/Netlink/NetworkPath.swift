import AgentModel
import Synchronization

/// Path from the device to a destination at one moment.
public struct NetworkPath: Hashable, Sendable {
    public let flags: ReachabilityFlags
    /// Interface that packets leave by, with its carrier if it is a tunnel; nil if the destination is unreachable.
    public let uplink: ActiveUplink?

    public static let none = NetworkPath(flags: [], uplink: nil)

    /// True if reachable without a user's action, perhaps after the system has made a connection automatically.
    public var isReachable: Bool { flags.isReachable }

    /// Returns the path with the higher rank, or `self` if equal.
    func orBetter(_ other: NetworkPath) -> NetworkPath { other.flags.rank > flags.rank ? other : self }
}

extension NetworkPath {
    init(to address: IPAddress, by route: RouteLookup?, in table: RouteTable, _ hints: PathHints) {
        let link = route.flatMap { table.links[$0.index] }
        let uplink = link.map { table.uplink(over: $0) }
        let interfaces = [uplink?.interface, uplink?.carrier?.interface].compactMap { $0 }
        flags = ReachabilityFlags(
            route: route, link: link, carrier: uplink?.carrier?.kind,
            isHopSilent: route.map { table.isSilent($0.gateway ?? address, on: $0.index) } ?? false,
            isCaptive: !hints.captiveInterfaces.isDisjoint(with: interfaces),
            isOnDemand: !hints.onDemandInterfaces.isDisjoint(with: interfaces),
            isWithoutConnection: link.map(table.isWithoutConnection) ?? false)
        self.uplink = flags.contains(.reachable) ? uplink : nil
    }
}

/// Facts about a path that the kernel does not know.
struct PathHints: Sendable {
    /// Addresses of the destination; nil until the name is resolved.
    var addresses: [IPAddress]?
    /// Interfaces with a sign-in page.
    var captiveInterfaces: Set<String> = []
    /// Interfaces that a program connects on demand.
    var onDemandInterfaces: Set<String> = []
}

extension ReachabilityFlags {
    /// Derives the flags from the kernel's route and the state of its link.
    ///
    /// | Situation                                      | Flags                                        |
    /// |------------------------------------------------|----------------------------------------------|
    /// | no route                                       | none                                         |
    /// | one of the device's own addresses              | reachable, isLocalAddress, isDirect          |
    /// | link down                                      | none                                         |
    /// | link without carrier                           | none                                         |
    /// | cellular link without carrier or address       | reachable, connectionRequired                |
    /// | dormant link, neither Wi-Fi nor wired          | adds connectionOnTraffic                     |
    /// | link that a program connects on demand         | adds connectionOnDemand                      |
    /// | next hop that failed its last neighbour probe  | none                                         |
    /// | no gateway, link with several peers            | reachable, isDirect                          |
    /// | gateway, or point-to-point link                | reachable                                    |
    /// | beyond the link, if sign-in is required        | adds connectionRequired, interventionRequired |
    /// | cellular link, also below a tunnel             | adds isCellular                              |
    /// | tunnel, or point-to-point link                 | adds transientConnection                     |
    ///
    /// An unassociated Wi-Fi interface has no carrier.
    /// - Parameters:
    ///   - link: interface of the route.
    ///   - carrier: kind of the link below a tunnel.
    ///   - isHopSilent: true if the gateway, or an on-link destination, does not answer.
    ///   - isCaptive: true if the link or its carrier requires sign-in.
    ///   - isOnDemand: true if a program connects the link on demand.
    ///   - isWithoutConnection: true for a modem's link without an address.
    init(
        route: RouteLookup?, link: NetworkInterface?, carrier: Uplink?, isHopSilent: Bool, isCaptive: Bool,
        isOnDemand: Bool = false, isWithoutConnection: Bool = false
    ) {
        self = []
        guard let route else { return }
        guard !route.isLocal else {
            self = [.reachable, .isLocalAddress, .isDirect]
            return
        }
        guard let link, link.isUp, !isHopSilent else { return }
        if !link.hasCarrier || isWithoutConnection || link.traits.contains(.dormant) {
            guard link.isMadeOnDemand || isOnDemand else { return }
            insert(.connectionRequired)
            // The driver waits for traffic (RFC 2863, 3.1.12). Modems without carrier do not wait for it.
            if link.isMadeOnDemand, link.traits.contains(.dormant) { insert(.connectionOnTraffic) }
            if isOnDemand { insert(.connectionOnDemand) }
        }
        insert(.reachable)
        let isDirect = route.gateway == nil && !link.traits.contains(.pointToPoint)
        if isDirect { insert(.isDirect) }
        if link.kind == .cellular || carrier == .cellular { insert(.isCellular) }
        if link.tunnel != nil || link.traits.contains(.pointToPoint) { insert(.transientConnection) }
        if isCaptive, !isDirect { formUnion([.connectionRequired, .interventionRequired]) }
    }

    /// Rank for choosing among the addresses of a destination: 0 unreachable, 1 needs an action, 2 reachable.
    var rank: Int { isReachable ? 2 : contains(.reachable) ? 1 : 0 }
}

extension NetworkInterface {
    /// True if the link connects automatically. Dormant Wi-Fi and Ethernet links only wait for authentication (802.1X).
    fileprivate var isMadeOnDemand: Bool {
        switch kind {
        case .cellular: true
        case .wifi, .wired: false
        case .other: hasCarrier
        }
    }
}

public enum Destination: Sendable {
    /// The internet: the default route, in any table and through any tunnel.
    case internet
    /// The zero address (0.0.0.0 or ::) means the internet, as in `SCNetworkReachability`.
    case address(IPAddress)
    /// The best path to any address of a name.
    ///
    /// `addresses` returns the current addresses of the name, empty on failure. The monitor calls it off the loop after
    /// each network change, and every 30 s while it returns none. A network change cancels a running call. Only the
    /// first eight addresses are used.
    case host(String, addresses: @Sendable (_ name: String) async -> [IPAddress])

    /// Resolves the name with getaddrinfo(3): /etc/hosts, multicast DNS, and the sources in nsswitch.conf(5).
    public static func host(_ name: String) -> Destination {
        .host(name) { await SystemNames.addresses(of: $0) }
    }
}

extension Destination {
    /// Addresses known without a name server; nil for a name.
    var fixedAddresses: [IPAddress]? {
        switch self {
        case .internet: Self.internetAddresses
        case .address(let address): Self.addresses(at: address)
        case .host(let name, _): IPAddress(name).map(Self.addresses(at:))
        }
    }

    /// Name to resolve and its resolver; nil if no name server is needed.
    var name: (text: String, addresses: @Sendable (_ name: String) async -> [IPAddress])? {
        guard case .host(let text, let addresses) = self, fixedAddresses == nil else { return nil }
        return (text, addresses)
    }

    /// Addresses of a root name server, which are in no local network. No packets are sent to them.
    private static let internetAddresses = ["198.41.0.4", "2001:503:ba3e::2:30"].compactMap { IPAddress($0) }

    /// Returns the addresses to look up. The kernel treats the zero address as local.
    private static func addresses(at address: IPAddress) -> [IPAddress] {
        address.isUnspecified ? internetAddresses : [address]
    }

    /// Filters the addresses of a name. A name server may answer with the zero address if a name has no host.
    static func usable(_ found: [IPAddress]) -> [IPAddress] { Array(found.filter { !$0.isUnspecified }.prefix(8)) }
}

/// Last path found, readable from any thread.
final class CurrentPath: Sendable {
    private struct State {
        /// Path to the destination; nil before the first search.
        var path: NetworkPath?
        var run = 0
        /// Run in which `path` was last reported.
        var lastReported = 0
        var isRunning = false
        var readers: [Int: AsyncStream<NetworkPathChanges.News>.Continuation] = [:]
        var lastReader = 0
    }

    private let state = Mutex(State())

    deinit { state.withLock { $0.readers.values.forEach { $0.finish() } } }

    /// Path of the current run; nil outside of a run and before its first result.
    var path: NetworkPath? { state.withLock { $0.isRunning && $0.lastReported == $0.run ? $0.path : nil } }

    var last: NetworkPath? { state.withLock { $0.path } }

    /// Starts a run. Reports its first path even if unchanged.
    func beginRun() {
        state.withLock { state in
            state.run += 1
            state.isRunning = true
        }
    }

    func endRun() { state.withLock { $0.isRunning = false } }

    func show(_ path: NetworkPath) {
        state.withLock { state in
            guard path != state.path || state.lastReported != state.run else { return }
            (state.path, state.lastReported) = (path, state.run)
            for reader in state.readers.values { reader.yield((path, state.run)) }
        }
    }

    func changes() -> NetworkPathChanges {
        let (stream, reader) = AsyncStream.makeStream(
            of: NetworkPathChanges.News.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastReader += 1
            state.readers[state.lastReader] = reader
            if let path = state.path { reader.yield((path, state.lastReported)) }
            return state.lastReader
        }
        reader.onTermination = { [weak self] _ in self?.forget(id) }
        return NetworkPathChanges(stream: stream)
    }

    private func forget(_ reader: Int) { state.withLock { $0.readers[reader] = nil } }
}

/// Sequence of changed paths. It starts with the current path, and repeats the path after each start of the monitor. A
/// slow reader gets only the latest path.
public struct NetworkPathChanges: AsyncSequence, Sendable {
    typealias News = (path: NetworkPath, run: Int)

    let stream: AsyncStream<News>

    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<News>.Iterator
        private var last: News?

        fileprivate init(base: AsyncStream<News>.Iterator) { self.base = base }

        /// - Returns: nil once the monitor is deallocated or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> NetworkPath? {
            // Skips a path that changed and changed back between two reads.
            while let news = await base.next(isolation: actor) {
                if let last, last == news { continue }
                last = news
                return news.path
            }
            return nil
        }
    }
}
