import AgentModel
import CNetlink
import Linux
import Synchronization

/// Follows links, addresses, default routes and neighbours through rtnetlink.
@AgentLoop
public final class RouteMonitor {
    /// By index.
    public var links: [Int: Link] { table.links }
    public var addresses: [Address] { Array(table.addresses.values) }
    /// The preferred first.
    public var defaultRoutes: [DefaultRoute] { table.defaultRoutes.sorted { $0.metric < $1.metric } }
    public var uplink: ActiveUplink? { table.uplink }

    let socket: NetlinkSocket
    private let files: LinkFiles
    private let report: @AgentLoop @Sendable (RouteEvent) -> Void
    private(set) var table = RouteTable()
    /// The interfaces of `setDisconnected`, for readers on any thread.
    nonisolated let disconnected = Mutex<Set<String>>([])
    /// Parts that have to be read anew.
    private var stale: Set<RouteSubject> = []
    /// One reading at a time, or two would take each other's messages for their own. The first one is the
    /// initialiser's.
    private var isReading = true
    private var hasLostNews = false
    /// Nothing that the first reading finds is an event.
    private var isStarted = false
    private var retry: LoopTimer?
    private var followers: [ObjectIdentifier: Follower] = [:]
    private var probes: [ObjectIdentifier: NeighbourProbe] = [:]

    private struct Follower {
        weak var following: RouteFollowing?
    }

    /// Returns when everything has been read once; what that found is in the snapshot and no event.
    /// - Parameter onEvent: called for each change from then on, on the loop, after the snapshot has changed.
    public convenience init(onEvent: @escaping @AgentLoop @Sendable (RouteEvent) -> Void) async throws(NetlinkError) {
        try await self.init(socket: NetlinkSocket(.route), onEvent: onEvent)
    }

    /// - Parameter socket: a route socket, of whichever network namespace is to be followed.
    init(
        socket: NetlinkSocket, files: LinkFiles = .system,
        onEvent: @escaping @AgentLoop @Sendable (RouteEvent) -> Void
    ) async throws(NetlinkError) {
        self.socket = socket
        self.files = files
        report = onEvent
        socket.onNotification = { [weak self] in self?.hear($0) }
        socket.onOverrun = { [weak self] in self?.resynchronise() }
        // Listening before reading: what changes in between is told twice rather than not at all.
        for (group, name) in Self.groups { try socket.join(group: Int(group.rawValue), named: name) }
        for subject in RouteSubject.allCases { try await read(subject) }
        isStarted = true
        isReading = false
        readStale()
    }

    isolated deinit { probes.values.forEach { $0.giveUp() } }

    /// Calls back on the loop after each change of what may lead packets elsewhere, a neighbour's silence included, for
    /// as long as the result is kept. Many changes may come in a row.
    public func follow(_ onChange: @escaping @AgentLoop @Sendable (RouteSubject) -> Void) -> RouteFollowing {
        let following = RouteFollowing(self, onChange: onChange)
        followers[ObjectIdentifier(following)] = Follower(following: following)
        return following
    }

    func forget(_ following: ObjectIdentifier) { followers[following] = nil }

    /// The interface with what carries it, if it is a tunnel.
    public func uplink(over index: Int) -> ActiveUplink? { links[index].map { table.uplink(over: $0) } }

    /// The interface that carries the device's traffic if that is not the one with the index `own`; nil if it is, or if
    /// nothing does.
    ///
    /// A tunnel or a bridge does not count: the traffic in it leaves the device by something else, and that may be the
    /// very Wi-Fi link that is asked about.
    public func uplink(besides own: Int?) -> Uplink? { table.bestCarrier.flatMap { $0.index == own ? nil : $0.kind } }

    /// The same, of a device with several such interfaces.
    public func uplink(besides own: [Int]) -> Uplink? {
        table.bestCarrier.flatMap { own.contains($0.index) ? nil : $0.kind }
    }

    /// Tells which interfaces have a modem without a connection, which neither the kernel nor most drivers know: their
    /// links count as being without carrier. It stays so until it is said otherwise.
    public func setDisconnected(_ interfaces: Set<String>) {
        disconnected.withLock { $0 = interfaces }
        let events = table.setDisconnected(interfaces)
        guard !events.isEmpty else { return }
        tell(events)
        tellFollowers(.links)
    }

    public func link(named name: String) -> Link? { links.values.first { $0.name == name } }

    /// Whether an address on a link did not answer when it was asked for last.
    public func isSilent(_ address: IPAddress, on index: Int) -> Bool {
        table.isSilent(address, on: index)
    }

    /// Sets an interface up or down. The change is an event.
    public func setLink(_ name: String, up: Bool) async throws(NetlinkError) {
        let attempted = "set \(name) \(up ? "up" : "down")"
        guard let link = link(named: name) else {
            throw NetlinkError(attempted: attempted, reason: .interfaceMissing(name))
        }
        try await socket.perform(.setLink(index: link.index, up: up), attempting: attempted)
    }

    private static let groups: [(rtnetlink_groups, String)] = [
        (RTNLGRP_LINK, "link"), (RTNLGRP_IPV4_IFADDR, "ipv4-ifaddr"), (RTNLGRP_IPV6_IFADDR, "ipv6-ifaddr"),
        (RTNLGRP_IPV4_ROUTE, "ipv4-route"), (RTNLGRP_IPV6_ROUTE, "ipv6-route"),
        (RTNLGRP_IPV4_RULE, "ipv4-rule"), (RTNLGRP_IPV6_RULE, "ipv6-rule"), (RTNLGRP_NEIGH, "neigh"),
    ]

    private func hear(_ message: NetlinkMessage) {
        let silent = table.failedNeighbours
        let news = RouteMessage(message)
        let events = news.map { apply($0, from: .news) } ?? []
        if case .neighbour(let neighbour) = news {
            for probe in probes.values where probe.key == neighbour.key { probe.hear(neighbour.state) }
        }
        if let subject = RouteSubject(message), subject != .neighbours || table.failedNeighbours != silent {
            tellFollowers(subject)
        }
        guard events.contains(where: { $0.mayEndRoutesSilently || table.lacksDefaultRoutes && $0.endsDefaultRoute })
        else { return }
        stale.insert(.routes)
        readStale()
    }

    @discardableResult
    private func apply(_ message: RouteMessage, from source: RouteTable.Source) -> [RouteEvent] {
        let events = table.apply(message, from: source) { Uplink($0, files: files) }
        tell(events)
        return events
    }

    private func resynchronise() {
        hasLostNews = true
        stale.formUnion(RouteSubject.allCases)
        readStale()
    }

    private func tell(_ events: [RouteEvent]) {
        guard isStarted else { return }
        events.forEach(report)
    }

    private func tellFollowers(_ subject: RouteSubject) {
        guard isStarted else { return }
        for follower in followers.values { follower.following?.tell(subject) }
    }

    // MARK: Neighbours

    /// Has the kernel ask a neighbour whose hardware address it knows, by a frame to that alone. Nothing is told of the
    /// answer, but it is counted as received. What the kernel has asked before is asked again.
    public func ask(_ address: IPAddress, on index: Int) {
        let key = Neighbour.Key(index: index, address: address)
        guard let state = table.neighbours[key], state.hasHardwareAddress else { return }
        for request in [NetlinkRequest.doubt(key), .probe(key)] {
            socket.send(
                request, expecting: .acknowledged, attempting: "ask a neighbour", within: NetlinkSocket.patience
            ) { _ in }
        }
    }

    func neighbourState(of key: Neighbour.Key) -> Neighbour.State? { table.neighbours[key] }

    func startProbe(_ key: Neighbour.Key, within limit: Duration, onEnd: @escaping (Bool) -> Void) {
        var id: ObjectIdentifier?
        let probe = NeighbourProbe(key, socket: socket, within: limit) { [weak self] answers in
            if let id { self?.probes[id] = nil }
            onEnd(answers)
        }
        id = ObjectIdentifier(probe)
        probes[ObjectIdentifier(probe)] = probe
        probe.ask(table.neighbours[key])
    }

    // MARK: Reading

    private func readStale() {
        guard !isReading, !stale.isEmpty else { return }
        isReading = true
        Task {
            await readWhileStale()
            isReading = false
        }
    }

    private func readWhileStale() async {
        while let subject = RouteSubject.allCases.first(where: stale.contains) {
            stale.remove(subject)
            do throws(NetlinkError) {
                try await read(subject)
            } catch {
                stale.insert(subject)
                // The kernel is short of something. Ask again later.
                retry = LoopTimer(after: .seconds(1)) { [weak self] in self?.readStale() }
                return
            }
        }
        guard hasLostNews else { return }
        hasLostNews = false
        report(.resynchronise)
        for probe in probes.values { probe.ask(table.neighbours[probe.key]) }
    }

    /// Reads a subject anew. Dump and news are applied in the order in which the kernel told them.
    private func read(_ subject: RouteSubject) async throws(NetlinkError) {
        for attempt in 1...NetlinkSocket.attempts {
            table.beginReading(subject)
            let isConsistent = try await socket.walk(.dump(of: subject), attempting: subject.attempted) { message in
                if let message = RouteMessage(message) { self.apply(message, from: .reading) }
            }
            if isConsistent || attempt == NetlinkSocket.attempts { break }
        }
        tell(table.endReading(subject))
        tellFollowers(subject)
    }
}

extension RouteEvent {
    /// Whether IPv4 routes may have gone with this without a word, as the kernel drops those whose link or source
    /// address is no longer there (fib_frontend.c, `fib_disable_ip` and `fib_del_ifaddr`).
    fileprivate var mayEndRoutesSilently: Bool {
        switch self {
        case .linkChanged(let link): !link.isUp
        case .linkRemoved: true
        case .addressRemoved(let address): address.family == .ipv4
        default: false
        }
    }

    /// A default route has gone, and makes room for one that was left out.
    fileprivate var endsDefaultRoute: Bool { if case .defaultRouteRemoved = self { true } else { false } }
}

extension RouteSubject {
    fileprivate var attempted: String {
        switch self {
        case .links: "list the links"
        case .addresses: "list the addresses"
        case .routes: "list the routes"
        case .neighbours: "list the neighbours"
        }
    }
}

/// Reports changes until it is cancelled or let go.
@AgentLoop
public final class RouteFollowing {
    private weak var monitor: RouteMonitor?
    private let onChange: (RouteSubject) -> Void

    init(_ monitor: RouteMonitor, onChange: @escaping (RouteSubject) -> Void) {
        self.monitor = monitor
        self.onChange = onChange
    }

    isolated deinit { cancel() }

    public func cancel() {
        monitor?.forget(ObjectIdentifier(self))
        monitor = nil
    }

    func tell(_ subject: RouteSubject) { onChange(subject) }
}
