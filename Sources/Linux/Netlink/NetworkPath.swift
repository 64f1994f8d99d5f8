import AgentModel
import Synchronization

/// The path between the device and a destination, at one moment.
public struct NetworkPath: Hashable, Sendable {
    public let flags: ReachabilityFlags
    /// The interface that packets leave by, with what carries it if it is a tunnel; nil while they would not leave.
    public let uplink: ActiveUplink?

    /// There is no route.
    public static let none = NetworkPath(flags: [], uplink: nil)

    /// Reachable, and, if a connection is required, one that is made by itself and without a user.
    public var isReachable: Bool { flags.isReachable }

    /// Returns the better one, or this one where both are as good.
    func orBetter(_ other: NetworkPath) -> NetworkPath { other.flags.rank > flags.rank ? other : self }
}

extension NetworkPath {
    /// The path to an address by the route that the kernel has found.
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

/// The facts that a path depends on and the kernel does not know.
struct PathHints: Sendable {
    /// The destination's addresses; nil until the name has been resolved.
    var addresses: [IPAddress]?
    /// Interfaces on which the user has to sign in.
    var captiveInterfaces: Set<String> = []
    /// Interfaces whose connection a program makes when it is wanted.
    var onDemandInterfaces: Set<String> = []
}

extension ReachabilityFlags {
    /// The flags that follow from the route that the kernel has found, and from the state of what is on it.
    ///
    /// | What is found                                             | Flags                                          |
    /// |-----------------------------------------------------------|------------------------------------------------|
    /// | no route                                                  | none                                           |
    /// | one of the device's own addresses                         | reachable, isLocalAddress, isDirect            |
    /// | a link that is down                                       | none                                           |
    /// | a link without carrier                                    | none                                           |
    /// | the same of a cellular link, or one without an address    | reachable, connectionRequired                  |
    /// | a link that is dormant, unless Wi-Fi or wired             | and connectionOnTraffic                        |
    /// | a connection that a program makes when it is wanted       | and connectionOnDemand                         |
    /// | a next hop that did not answer when it was asked last     | none                                           |
    /// | no gateway, on a link with more than one other end        | reachable, isDirect                            |
    /// | a gateway, or a point-to-point link                       | reachable                                      |
    /// | beyond the link, where the user has to sign in            | and connectionRequired, interventionRequired   |
    /// | a cellular link, itself or underneath a tunnel            | and isCellular                                 |
    /// | a tunnel, or a point-to-point link                        | and transient                                  |
    ///
    /// A Wi-Fi interface that has joined nothing has no carrier, and is one that nothing leads over.
    /// - Parameters:
    ///   - link: the interface of the route.
    ///   - carrier: what is underneath, if that is a tunnel.
    ///   - isHopSilent: whether the gateway, or the destination where there is none, does not answer on the link.
    ///   - isCaptive: whether the user has to sign in on the link, or on the carrier.
    ///   - isOnDemand: whether a program makes the link's connection when it is wanted.
    ///   - isWithoutConnection: whether the link is a modem's that has no address.
    init(
        route: RouteLookup?, link: Link?, carrier: Uplink?, isHopSilent: Bool, isCaptive: Bool,
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
            // Its driver waits for what it is to carry (RFC 2863, 3.1.12). A modem without carrier waits for nothing.
            if link.isMadeOnDemand, link.traits.contains(.dormant) { insert(.connectionOnTraffic) }
            if isOnDemand { insert(.connectionOnDemand) }
        }
        insert(.reachable)
        let isDirect = route.gateway == nil && !link.traits.contains(.pointToPoint)
        if isDirect { insert(.isDirect) }
        if link.kind == .cellular || carrier == .cellular { insert(.isCellular) }
        if link.tunnel != nil || link.traits.contains(.pointToPoint) { insert(.transient) }
        if isCaptive, !isDirect { formUnion([.connectionRequired, .interventionRequired]) }
    }

    /// How good a route it is, for choosing among the addresses of one destination.
    var rank: Int { isReachable ? 2 : contains(.reachable) ? 1 : 0 }
}

extension Link {
    /// Whether something connects it by itself when it is needed. On Wi-Fi and Ethernet, being dormant says only that
    /// the other side has not let the device in yet (802.1X).
    fileprivate var isMadeOnDemand: Bool {
        switch kind {
        case .cellular: true
        case .wifi, .wired: false
        case .other: hasCarrier
        }
    }
}

/// A destination whose reachability is asked for.
public enum Destination: Sendable {
    /// The internet as a whole: the default route, in whichever table and through whichever tunnel the kernel has it.
    case internet
    /// The zero address (0.0.0.0 or ::) means the internet, as with `SCNetworkReachability`.
    case address(IPAddress)
    /// The best that there is to any address of a name.
    ///
    /// `addresses` gives those that the name has at present, none if it has none or no server tells. It is called off
    /// the loop, whenever the network has changed and every half minute while there are none; its task is cancelled
    /// when the network changes meanwhile. Of many addresses the first eight count.
    case host(String, addresses: @Sendable (_ name: String) async -> [IPAddress])

    /// The same with the system's own resolver (getaddrinfo(3)): /etc/hosts, multicast DNS and whatever nsswitch.conf(5)
    /// names count, and the name server that the system asks.
    public static func host(_ name: String) -> Destination {
        .host(name) { await SystemNames.addresses(of: $0) }
    }
}

extension Destination {
    /// The addresses that the kernel can be asked about without a name server; nil for a name.
    var fixedAddresses: [IPAddress]? {
        switch self {
        case .internet: Self.internetAddresses
        case .address(let address): Self.addresses(at: address)
        case .host(let name, _): IPAddress(name).map(Self.addresses(at:))
        }
    }

    /// The name to be resolved, with its resolver; nil for what needs none.
    var name: (text: String, addresses: @Sendable (_ name: String) async -> [IPAddress])? {
        guard case .host(let text, let addresses) = self, fixedAddresses == nil else { return nil }
        return (text, addresses)
    }

    /// Addresses of a root name server: as surely not in any network at hand as an address can be. Nothing is ever sent there.
    private static let internetAddresses = ["198.41.0.4", "2001:503:ba3e::2:30"].compactMap { IPAddress($0) }

    /// The kernel has the zero address as one of the device's own, whatever the network.
    private static func addresses(at address: IPAddress) -> [IPAddress] {
        address.isUnspecified ? internetAddresses : [address]
    }

    /// The addresses of a name that count. A name server that answers with the zero address has no host for the name.
    static func usable(_ found: [IPAddress]) -> [IPAddress] { Array(found.filter { !$0.isUnspecified }.prefix(8)) }
}

/// The path as it was found last, for readers on any thread.
final class PathBoard: Sendable {
    private struct State {
        /// Nil until it has been looked for once.
        var path: NetworkPath?
        /// Counts the starts.
        var run = 0
        /// The run that the path was told in.
        var told = 0
        var isRunning = false
        var readers: [Int: AsyncStream<NetworkPathChanges.News>.Continuation] = [:]
        var lastReader = 0
    }

    private let state = Mutex(State())

    deinit { state.withLock { $0.readers.values.forEach { $0.finish() } } }

    /// The path of the run under way; nil outside of a run, and until the run has found one.
    var path: NetworkPath? { state.withLock { $0.isRunning && $0.told == $0.run ? $0.path : nil } }

    /// The path that was found last, in whichever run.
    var last: NetworkPath? { state.withLock { $0.path } }

    /// Begins a run. Its first path is told, also where it is the same as before.
    func beginRun() {
        state.withLock { state in
            state.run += 1
            state.isRunning = true
        }
    }

    func endRun() { state.withLock { $0.isRunning = false } }

    func show(_ path: NetworkPath) {
        state.withLock { state in
            guard path != state.path || state.told != state.run else { return }
            (state.path, state.told) = (path, state.run)
            for reader in state.readers.values { reader.yield((path, state.run)) }
        }
    }

    func changes() -> NetworkPathChanges {
        let (stream, reader) = AsyncStream.makeStream(
            of: NetworkPathChanges.News.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastReader += 1
            state.readers[state.lastReader] = reader
            if let path = state.path { reader.yield((path, state.told)) }
            return state.lastReader
        }
        reader.onTermination = { [weak self] _ in self?.forget(id) }
        return NetworkPathChanges(stream: stream)
    }

    private func forget(_ reader: Int) { state.withLock { $0.readers[reader] = nil } }
}

/// Paths as they change: first the one there is, then each that differs from the one before it, and after each start of
/// the monitor the one there is. A slow reader misses what came in between and gets the latest.
public struct NetworkPathChanges: AsyncSequence, Sendable {
    /// A path, and the run of the monitor that found it.
    typealias News = (path: NetworkPath, run: Int)

    let stream: AsyncStream<News>

    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<News>.Iterator
        private var last: News?

        fileprivate init(base: AsyncStream<News>.Iterator) { self.base = base }

        /// - Returns: nil once the monitor is gone, or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> NetworkPath? {
            // A path that has changed and changed back between two reads is no change.
            while let news = await base.next(isolation: actor) {
                if let last, last == news { continue }
                last = news
                return news.path
            }
            return nil
        }
    }
}
