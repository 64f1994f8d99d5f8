import AgentModel

/// Kinds of rtnetlink objects that can be dumped and change.
public enum RouteSubject: CaseIterable, Sendable {
    case links, addresses, neighbours
    /// Routes, including routing rules.
    case routes
}

/// Links, addresses, default routes and neighbours, updated by rtnetlink messages. Returns the changes of each message.
struct RouteTable {
    private(set) var links: [Int: NetworkInterface] = [:]
    private(set) var addresses: [AddressKey: InterfaceAddress] = [:]
    private(set) var defaultRoutes: Set<DefaultRoute> = []
    /// True if default routes beyond ``maximumDefaultRoutes`` were left out since the last dump.
    private(set) var lacksDefaultRoutes = false
    private(set) var hostRoutes: Set<HostRoute> = []
    /// States of neighbours, at most as many as the kernel keeps (arp(7), `gc_thresh3`).
    private(set) var neighbours: [Neighbour.Key: Neighbour.State] = [:]
    /// Neighbours that failed their last probe.
    private(set) var failedNeighbours: Set<Neighbour.Key> = []
    private(set) var uplink: ActiveUplink?
    private(set) var disconnected: Set<String> = []
    /// Links not yet seen in the running dump. At its end, the remaining ones are removed.
    private var unseenLinks: Set<Int>?
    private var unseenAddresses: Set<AddressKey>?
    private var unseenRoutes: Set<DefaultRoute>?
    private var unseenHostRoutes: Set<HostRoute>?
    private var unseenNeighbours: Set<Neighbour.Key>?

    struct AddressKey: Hashable {
        let index: Int
        let bytes: [UInt8]
        let prefixLength: Int

        init(_ address: InterfaceAddress) {
            (index, bytes, prefixLength) = (address.index, address.bytes, address.prefixLength)
        }
    }

    enum Source {
        case news
        /// The message is part of a dump: unchanged objects cause no events.
        case reading
    }

    /// - Parameter kind: returns the kind of a new or renamed link.
    mutating func apply(
        _ message: RouteMessage, from source: Source, kind: (LinkReport) -> Uplink
    ) -> [RouteEvent] {
        var events: [RouteEvent] = []
        switch message {
        case .link(let report):
            unseenLinks?.remove(report.index)
            guard
                let link = NetworkInterface(
                    report, known: links[report.index], disconnected: disconnected, kind: kind),
                links.updateValue(link, forKey: link.index) != link
            else { break }
            events.append(.linkChanged(link))
        case .linkRemoved(let index):
            if let link = links.removeValue(forKey: index) { events.append(.linkRemoved(link)) }
        case .address(let address):
            let key = AddressKey(address)
            unseenAddresses?.remove(key)
            let former = addresses.updateValue(address, forKey: key)
            if source == .news || former != address { events.append(.addressAdded(address)) }
        case .addressRemoved(let address):
            if let address = addresses.removeValue(forKey: AddressKey(address)) {
                events.append(.addressRemoved(address))
            }
        case .defaultRoutes(let routes, let replaces):
            if replaces, let first = routes.first {
                events += remove(
                    defaultRoutes.filter { $0.family == first.family && $0.metric == first.metric }.subtracting(routes))
            }
            for route in routes {
                unseenRoutes?.remove(route)
                guard hasRoom(for: route) else {
                    lacksDefaultRoutes = true
                    continue
                }
                if defaultRoutes.insert(route).inserted { events.append(.defaultRouteAdded(route)) }
            }
        case .defaultRoutesRemoved(let routes): events += remove(defaultRoutes.intersection(routes))
        case .hostRoute(let route, let replaces):
            unseenHostRoutes?.remove(route)
            if replaces {
                hostRoutes = hostRoutes.filter { ($0.destination, $0.metric) != (route.destination, route.metric) }
            }
            if hostRoutes.count < Self.maximumHostRoutes { hostRoutes.insert(route) }
        case .hostRouteRemoved(let route): hostRoutes.remove(route)
        case .neighbour(let neighbour):
            unseenNeighbours?.remove(neighbour.key)
            record(neighbour)
        case .neighbourRemoved(let key): forget(key)
        }
        return events + uplinkChange()
    }

    /// - Parameter interfaces: names of all interfaces whose modem has no connection.
    mutating func setDisconnected(_ interfaces: Set<String>) -> [RouteEvent] {
        disconnected = interfaces
        var events: [RouteEvent] = []
        for var link in links.values.sorted(by: { $0.index < $1.index })
        where link.isDisconnected != interfaces.contains(link.name) {
            link.isDisconnected.toggle()
            links[link.index] = link
            events.append(.linkChanged(link))
        }
        return events + uplinkChange()
    }

    /// Maximum number of default routes per interface and family. Any host of an IPv6 network can claim to be a router.
    static let maximumDefaultRoutes = 32

    private func hasRoom(for route: DefaultRoute) -> Bool {
        route.isOwn || defaultRoutes.contains(route)
            || defaultRoutes.count { $0.index == route.index && $0.family == route.family }
                < Self.maximumDefaultRoutes
    }

    /// Maximum number of host routes, more than VPN clients create. Beyond it, a tunnel's carrier may not be found.
    private static let maximumHostRoutes = 256

    mutating func beginReading(_ subject: RouteSubject) {
        switch subject {
        case .links: unseenLinks = Set(links.keys)
        case .addresses: unseenAddresses = Set(addresses.keys)
        case .routes:
            (unseenRoutes, unseenHostRoutes) = (defaultRoutes, hostRoutes)
            lacksDefaultRoutes = false
        case .neighbours: unseenNeighbours = Set(neighbours.keys)
        }
    }

    /// Ends a dump and removes objects that it lacks.
    mutating func endReading(_ subject: RouteSubject) -> [RouteEvent] {
        defer { abandonReading(subject) }
        var events: [RouteEvent] = []
        switch subject {
        case .links:
            events = (unseenLinks ?? []).sorted().compactMap {
                links.removeValue(forKey: $0).map(RouteEvent.linkRemoved)
            }
        case .addresses:
            events = (unseenAddresses ?? []).compactMap {
                addresses.removeValue(forKey: $0).map(RouteEvent.addressRemoved)
            }
        case .routes:
            hostRoutes.subtract(unseenHostRoutes ?? [])
            events = remove(defaultRoutes.intersection(unseenRoutes ?? []))
        case .neighbours: unseenNeighbours?.forEach { forget($0) }
        }
        return events + uplinkChange()
    }

    /// Ends a failed dump without removals.
    mutating func abandonReading(_ subject: RouteSubject) {
        switch subject {
        case .links: unseenLinks = nil
        case .addresses: unseenAddresses = nil
        case .routes: (unseenRoutes, unseenHostRoutes) = (nil, nil)
        case .neighbours: unseenNeighbours = nil
        }
    }

    private mutating func remove(_ routes: Set<DefaultRoute>) -> [RouteEvent] {
        defaultRoutes.subtract(routes)
        return routes.sorted { $0.metric < $1.metric }.map(RouteEvent.defaultRouteRemoved)
    }

    private mutating func record(_ neighbour: Neighbour) {
        switch neighbour.state {
        case .failed: failedNeighbours.insert(neighbour.key)
        // The repeated probe is not answered yet.
        case .none, .incomplete: break
        default: failedNeighbours.remove(neighbour.key)
        }
        neighbours[neighbour.key] = neighbour.state
    }

    private mutating func forget(_ neighbour: Neighbour.Key) {
        neighbours[neighbour] = nil
        failedNeighbours.remove(neighbour)
    }

    private mutating func uplinkChange() -> [RouteEvent] {
        let best = bestUplink
        guard best != uplink else { return [] }
        uplink = best
        return [.uplinkChanged(best)]
    }
}

extension RouteTable {
    /// Interface of internet traffic; may be a tunnel.
    var bestUplink: ActiveUplink? { bestLink { _ in true }.map { uplink(over: $0) } }

    /// Interface by which traffic leaves the device; never a tunnel or bridge.
    var bestCarrier: NetworkInterface? { bestLink(where: \.isCarrier) }

    func uplink(over link: NetworkInterface) -> ActiveUplink {
        let lower = link.tunnel.flatMap(carrier(of:))
        return ActiveUplink(
            kind: link.kind, interface: link.name, index: link.index,
            carrier: lower.map { ActiveUplink.Carrier(kind: $0.kind, interface: $0.name, index: $0.index) })
    }

    /// Returns the link that carries a tunnel's packets. Tries, in order:
    /// 1. the interface that the tunnel is bound to;
    /// 2. the host route to the known peer, or the link whose network contains it;
    /// 3. the best default route that is not a tunnel's;
    /// 4. the best host route through a gateway that is not a tunnel's: VPN clients that replace the default route add
    ///    one to their server.
    func carrier(of tunnel: NetworkInterface.Tunnel) -> NetworkInterface? {
        var tunnel = tunnel
        // The limit stops at eight nested tunnels.
        for _ in 0..<8 {
            guard let lower = tunnel.lowerIndex.flatMap({ links[$0] }) else { break }
            guard let next = lower.tunnel else { return lower }
            tunnel = next
        }
        return tunnel.farEnd.flatMap(linkTowards) ?? bestCarrier ?? bestHostRoute { _ in true }
    }

    private func linkTowards(_ farEnd: IPAddress) -> NetworkInterface? {
        if let link = bestHostRoute(where: { $0.destination == farEnd }) { return link }
        let onLink = addresses.values.filter { address in
            IPAddress(bytes: address.bytes)?.shares(prefix: address.prefixLength, with: farEnd) ?? false
        }
        return onLink.sorted { ($1.prefixLength, $0.index) < ($0.prefixLength, $1.index) }
            .lazy.compactMap { usableLink($0.index) }.first(where: \.isCarrier)
    }

    private func bestHostRoute(where matches: (HostRoute) -> Bool) -> NetworkInterface? {
        let usable = hostRoutes.filter { matches($0) && usableLink($0.index)?.isCarrier ?? false }
        return usable.min { ($0.metric, $0.index) < ($1.metric, $1.index) }.flatMap { links[$0.index] }
    }

    private func bestLink(where matches: (NetworkInterface) -> Bool) -> NetworkInterface? {
        let usable = defaultRoutes.filter { usableLink($0.index).map(matches) ?? false }
        // Metrics of the two families are not comparable. Prefers IPv4, because every network has it.
        let best = usable.min { left, right in
            left.order < right.order
        }
        return best.flatMap { links[$0.index] }
    }

    /// Links that are up, other than tunnels and bridges, with a default route of another program, best first. Includes
    /// links without carrier, over which the kernel still sends packets.
    var carriers: [NetworkInterface] {
        var found: [NetworkInterface] = []
        for route in defaultRoutes.filter({ !$0.isOwn }).sorted(by: { $0.order < $1.order })
        where found.count < Self.maximumCarriers && !found.contains(where: { $0.index == route.index }) {
            if let link = links[route.index], link.isUp, link.isCarrier { found.append(link) }
        }
        return found
    }

    private static let maximumCarriers = 8

    /// True if traffic can leave over the link: it has a carrier, and a modem has a connection.
    func isConnected(_ link: NetworkInterface) -> Bool { usableLink(link.index) != nil }

    private func usableLink(_ index: Int) -> NetworkInterface? {
        guard let link = links[index], link.isUp, link.hasCarrier, !isWithoutConnection(link) else { return nil }
        return link
    }

    /// True if the address failed its last neighbour probe.
    func isSilent(_ address: IPAddress, on index: Int) -> Bool {
        failedNeighbours.contains(Neighbour.Key(index: index, address: address))
    }

    /// True for a modem's interface without a global address. The cellular network assigns one on connection.
    func isWithoutConnection(_ link: NetworkInterface) -> Bool {
        link.kind == .cellular
            && !addresses.values.contains { $0.index == link.index && $0.scope != .link && $0.scope != .host }
    }
}

extension DefaultRoute {
    /// Sort key of the kernel's choice. The agent's own route of the same metric is first (`SteeringPlan`).
    fileprivate var order: (Int, Int, Int, Int) { (family == .ipv4 ? 0 : 1, metric, isOwn ? 0 : 1, index) }
}
