import AgentModel
import CNetlink
import Linux
import Synchronization

/// Follows links, addresses, default routes and neighbours through rtnetlink.
@AgentLoop
public final class RouteMonitor {
    public var links: [Int: NetworkInterface] { table.links }
    public var addresses: [InterfaceAddress] { Array(table.addresses.values) }
    /// Default routes sorted by metric, preferred first.
    public var defaultRoutes: [DefaultRoute] { table.defaultRoutes.sorted { $0.metric < $1.metric } }
    public var uplink: ActiveUplink? { table.uplink }

    let socket: NetlinkSocket
    private let report: @AgentLoop @Sendable (RouteEvent) -> Void
    private(set) var table = RouteTable()
    /// Interfaces of `setDisconnected`, readable on any thread.
    nonisolated let disconnected = Mutex<Set<String>>([])
    /// Subjects that must be read again.
    private var stale: Set<RouteSubject> = []
    /// True during a dump. Dumps must not overlap, or they would mix up messages. The initialiser starts the first
    /// dump.
    private var isReading = true
    private var hasLostNews = false
    /// False during the first dump, which causes no events.
    private var isStarted = false
    private var retry: LoopTimer?
    private var followers: [ObjectIdentifier: Follower] = [:]
    private var probes: [ObjectIdentifier: NeighbourProbe] = [:]

    private struct Follower {
        weak var following: RouteFollowing?
    }

    /// Returns after the first complete dump.
    /// - Parameter onEvent: called on the loop for each later change, after the snapshot has changed.
    public convenience init(onEvent: @escaping @AgentLoop @Sendable (RouteEvent) -> Void) async throws(NetlinkError) {
        try await self.init(socket: NetlinkSocket(.route), onEvent: onEvent)
    }

    /// - Parameter socket: a route socket in the network namespace to follow.
    init(
        socket: NetlinkSocket, onEvent: @escaping @AgentLoop @Sendable (RouteEvent) -> Void
    ) async throws(NetlinkError) {
        self.socket = socket
        report = onEvent
        socket.onNotification = { [weak self] in self?.handle($0) }
        socket.onOverrun = { [weak self] in self?.resynchronise() }
        // Joins groups before the dump: a change may be reported twice but is never missed.
        for (group, name) in Self.groups { try socket.join(group: Int(group.rawValue), named: name) }
        for subject in RouteSubject.allCases { try await read(subject) }
        isStarted = true
        isReading = false
        readStale()
    }

    isolated deinit { probes.values.forEach { $0.giveUp() } }

    /// Calls back on the loop after each change that may affect routing, including a neighbour's failure. Stops when
    /// the result is deallocated. Changes may come in bursts.
    public func follow(_ onChange: @escaping @AgentLoop @Sendable (RouteSubject) -> Void) -> RouteFollowing {
        let following = RouteFollowing(self, onChange: onChange)
        followers[ObjectIdentifier(following)] = Follower(following: following)
        return following
    }

    func forget(_ following: ObjectIdentifier) { followers[following] = nil }

    /// Returns the interface, with its carrier if it is a tunnel.
    public func uplink(over index: Int) -> ActiveUplink? { links[index].map { table.uplink(over: $0) } }

    /// Returns the kind of the interface that carries the device's traffic; nil if there is none or its index is `own`.
    /// Ignores tunnels and bridges: their traffic leaves by another link, perhaps this one.
    public func uplink(besides own: Int?) -> Uplink? { table.bestCarrier.flatMap { $0.index == own ? nil : $0.kind } }

    /// Returns the interface that carries the device's traffic, like `uplink(besides:)`; nil if its index is in `own`.
    public func carrier(besides own: [Int]) -> NetworkInterface? {
        table.bestCarrier.flatMap { own.contains($0.index) ? nil : $0 }
    }

    /// Interfaces that are up, other than tunnels and bridges, with a default route of another program, best first.
    public var carriers: [(interface: NetworkInterface, isConnected: Bool)] {
        table.carriers.map { ($0, table.isConnected($0)) }
    }

    /// Sets the interfaces whose modem has no connection, which the kernel does not know. Their links count as links
    /// without carrier.
    public func setDisconnected(_ interfaces: Set<String>) {
        disconnected.withLock { $0 = interfaces }
        let events = table.setDisconnected(interfaces)
        guard !events.isEmpty else { return }
        deliver(events)
        notifyFollowers(.links)
    }

    public func link(named name: String) -> NetworkInterface? { links.values.first { $0.name == name } }

    /// True if the address failed its last neighbour probe.
    public func isSilent(_ address: IPAddress, on index: Int) -> Bool {
        table.isSilent(address, on: index)
    }

    /// Sets an interface up or down. The change is reported as an event.
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

    private func handle(_ message: NetlinkMessage) {
        let silent = table.failedNeighbours
        let news = RouteMessage(message)
        let events = news.map { apply($0, from: .news) } ?? []
        if case .neighbour(let neighbour) = news {
            for probe in probes.values where probe.key == neighbour.key { probe.handle(neighbour.state) }
        }
        if let subject = RouteSubject(message), subject != .neighbours || table.failedNeighbours != silent {
            notifyFollowers(subject)
        }
        guard events.contains(where: { $0.mayEndRoutesSilently || table.lacksDefaultRoutes && $0.endsDefaultRoute })
        else { return }
        stale.insert(.routes)
        readStale()
    }

    @discardableResult
    private func apply(_ message: RouteMessage, from source: RouteTable.Source) -> [RouteEvent] {
        let events = table.apply(message, from: source) { Uplink($0, files: .system) }
        deliver(events)
        return events
    }

    private func resynchronise() {
        hasLostNews = true
        stale.formUnion(RouteSubject.allCases)
        readStale()
    }

    private func deliver(_ events: [RouteEvent]) {
        guard isStarted else { return }
        events.forEach(report)
    }

    private func notifyFollowers(_ subject: RouteSubject) {
        guard isStarted else { return }
        for follower in followers.values { follower.following?.notify(subject) }
    }

    // MARK: Neighbours

    /// Sends a unicast probe to a neighbour with a known hardware address, even if it was probed recently. The reply is
    /// not reported, but counts as received traffic.
    public func ask(_ address: IPAddress, on index: Int) {
        let key = Neighbour.Key(index: index, address: address)
        guard let state = table.neighbours[key], state.hasHardwareAddress else { return }
        for request in [NetlinkRequest.doubt(key), .probe(key)] {
            socket.send(
                request, expecting: .acknowledged, attempting: "probe a neighbour", within: NetlinkSocket.patience
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
                // Tries again later, because the kernel lacks resources.
                retry = LoopTimer(after: .seconds(1)) { [weak self] in self?.readStale() }
                return
            }
        }
        guard hasLostNews else { return }
        hasLostNews = false
        report(.resynchronise)
        for probe in probes.values { probe.ask(table.neighbours[probe.key]) }
    }

    /// Reads all objects of one subject. Applies its messages and other changes in the kernel's order.
    private func read(_ subject: RouteSubject) async throws(NetlinkError) {
        for attempt in 1...NetlinkSocket.attempts {
            table.beginReading(subject)
            let isConsistent = try await socket.walk(.dump(of: subject), attempting: subject.attempted) { message in
                if let message = RouteMessage(message) { self.apply(message, from: .reading) }
            }
            if isConsistent || attempt == NetlinkSocket.attempts { break }
        }
        deliver(table.endReading(subject))
        notifyFollowers(subject)
    }
}

extension RouteEvent {
    /// True if the kernel may have removed IPv4 routes without a message, because their link or source address is gone
    /// (fib_frontend.c, `fib_disable_ip` and `fib_del_ifaddr`).
    fileprivate var mayEndRoutesSilently: Bool {
        switch self {
        case .linkChanged(let link): !link.isUp
        case .linkRemoved: true
        case .addressRemoved(let address): address.family == .ipv4
        default: false
        }
    }

    /// True for a removed default route: a route that was left out may fit now.
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

/// Reports changes until cancelled or deallocated.
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

    func notify(_ subject: RouteSubject) { onChange(subject) }
}
