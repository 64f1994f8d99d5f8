import AgentModel
import CNetlink
import EventLoop

/// Follows links, addresses and default routes through rtnetlink.
@AgentLoop
public final class RouteMonitor {
    /// By index.
    public var links: [Int: Link] { table.links }
    public var addresses: [Address] { Array(table.addresses.values) }
    /// The preferred first.
    public var defaultRoutes: [DefaultRoute] { table.defaultRoutes.sorted { $0.metric < $1.metric } }
    public var uplink: ActiveUplink? { table.uplink }

    private let socket: NetlinkSocket
    private let report: @AgentLoop @Sendable (RouteEvent) -> Void
    private var table = RouteTable()
    /// What has to be read anew.
    private var stale: Set<RouteTable.Subject> = []
    /// One reading at a time, or two would take each other's messages for their own. The first one is the initialiser's.
    private var isReading = true
    private var hasLostNews = false
    /// What the first reading finds is no event.
    private var isStarted = false
    private var retry: LoopTimer?

    /// Returns when everything has been read once; what that found is in the snapshot and no event.
    /// - Parameter onEvent: called for each change from then on, on the loop, after the snapshot has changed.
    public convenience init(onEvent: @escaping @AgentLoop @Sendable (RouteEvent) -> Void) async throws(NetlinkError) {
        try await self.init(socket: NetlinkSocket(.route), onEvent: onEvent)
    }

    /// - Parameter socket: a route socket, of whichever network namespace is to be followed.
    init(
        socket: NetlinkSocket, onEvent: @escaping @AgentLoop @Sendable (RouteEvent) -> Void
    ) async throws(NetlinkError) {
        self.socket = socket
        report = onEvent
        socket.onNotification = { [weak self] in self?.hear($0) }
        socket.onOverrun = { [weak self] in self?.resynchronise() }
        // Listening before reading: what changes in between is told twice rather than not at all.
        for (group, name) in Self.groups { try socket.join(group: Int(group.rawValue), named: name) }
        for subject in RouteTable.Subject.allCases { try await read(subject) }
        isStarted = true
        isReading = false
        readStale()
    }

    /// Sets an interface up or down. The change is an event.
    public func setLink(_ name: String, up: Bool) async throws(NetlinkError) {
        let attempted = "set \(name) \(up ? "up" : "down")"
        guard let link = links.values.first(where: { $0.name == name }) else {
            throw NetlinkError(attempted: attempted, reason: .interfaceMissing(name))
        }
        try await socket.perform(.setLink(index: link.index, up: up), attempting: attempted)
    }

    private static let groups: [(rtnetlink_groups, String)] = [
        (RTNLGRP_LINK, "link"), (RTNLGRP_IPV4_IFADDR, "ipv4-ifaddr"), (RTNLGRP_IPV6_IFADDR, "ipv6-ifaddr"),
        (RTNLGRP_IPV4_ROUTE, "ipv4-route"), (RTNLGRP_IPV6_ROUTE, "ipv6-route"),
    ]

    private func hear(_ message: NetlinkMessage) {
        let events = apply(message, from: .news)
        guard events.contains(where: \.mayEndRoutesSilently) else { return }
        stale.insert(.routes)
        readStale()
    }

    @discardableResult
    private func apply(_ message: NetlinkMessage, from source: RouteTable.Source) -> [RouteEvent] {
        guard let message = RouteMessage(message) else { return [] }
        let events = table.apply(message, from: source) { Uplink($0) }
        tell(events)
        return events
    }

    private func resynchronise() {
        hasLostNews = true
        stale.formUnion(RouteTable.Subject.allCases)
        readStale()
    }

    private func tell(_ events: [RouteEvent]) {
        guard isStarted else { return }
        events.forEach(report)
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
        while let subject = RouteTable.Subject.allCases.first(where: stale.contains) {
            stale.remove(subject)
            do throws(NetlinkError) {
                try await read(subject)
            } catch {
                stale.insert(subject)
                // The kernel is short of something. There is nobody to tell, and nothing to do but to ask again.
                retry = LoopTimer(after: .seconds(1)) { [weak self] in self?.readStale() }
                return
            }
        }
        guard hasLostNews else { return }
        hasLostNews = false
        report(.resynchronise)
    }

    /// Reads a subject anew. What is read and what is news are applied in the order in which the kernel told them.
    private func read(_ subject: RouteTable.Subject) async throws(NetlinkError) {
        for attempt in 1...NetlinkSocket.attempts {
            table.beginReading(subject)
            let isConsistent = try await socket.walk(.dump(of: subject), attempting: subject.attempted) { message in
                self.apply(message, from: .reading)
            }
            if isConsistent || attempt == NetlinkSocket.attempts { break }
        }
        tell(table.endReading(subject))
    }
}

extension RouteEvent {
    /// Whether IPv4 routes may have gone with this without a word, as the kernel drops those whose link or source address
    /// is no longer there (fib_frontend.c, `fib_disable_ip` and `fib_del_ifaddr`).
    fileprivate var mayEndRoutesSilently: Bool {
        switch self {
        case .linkChanged(let link): !link.isUp
        case .linkRemoved: true
        case .addressRemoved(let address): address.family == .ipv4
        default: false
        }
    }
}

extension RouteTable.Subject {
    fileprivate var attempted: String {
        switch self {
        case .links: "list the links"
        case .addresses: "list the addresses"
        case .routes: "list the routes"
        }
    }
}
