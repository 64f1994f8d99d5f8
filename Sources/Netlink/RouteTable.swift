import AgentModel

/// Links, addresses and default routes, kept from rtnetlink's messages. It tells what each message changed.
struct RouteTable {
    private(set) var links: [Int: Link] = [:]
    private(set) var addresses: [AddressKey: Address] = [:]
    private(set) var defaultRoutes: Set<DefaultRoute> = []
    private(set) var uplink: ActiveUplink?
    /// What a reading under way has not come across yet, and so what is gone if it does not.
    private var unseenLinks: Set<Int>?
    private var unseenAddresses: Set<AddressKey>?
    private var unseenRoutes: Set<DefaultRoute>?

    struct AddressKey: Hashable {
        let index: Int
        let bytes: [UInt8]
        let prefixLength: Int

        init(_ address: Address) {
            (index, bytes, prefixLength) = (address.index, address.bytes, address.prefixLength)
        }
    }

    /// What can be read as a whole.
    enum Subject: CaseIterable {
        case links, addresses, routes
    }

    /// Where a message came from.
    enum Source {
        /// It was told because something happened.
        case news
        /// It is part of a reading: what is known already is no event.
        case reading
    }

    /// - Parameter kind: the kind of a link that is new or has a new name.
    mutating func apply(
        _ message: RouteMessage, from source: Source, kind: (LinkReport) -> Uplink
    ) -> [RouteEvent] {
        var events: [RouteEvent] = []
        switch message {
        case .link(let report):
            unseenLinks?.remove(report.index)
            guard let link = merge(report, kind), links.updateValue(link, forKey: link.index) != link else { break }
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
                if defaultRoutes.insert(route).inserted { events.append(.defaultRouteAdded(route)) }
            }
        case .defaultRoutesRemoved(let routes): events += remove(defaultRoutes.intersection(routes))
        }
        return events + uplinkChange()
    }

    /// Everything of a subject is about to be told.
    mutating func beginReading(_ subject: Subject) {
        switch subject {
        case .links: unseenLinks = Set(links.keys)
        case .addresses: unseenAddresses = Set(addresses.keys)
        case .routes: unseenRoutes = defaultRoutes
        }
    }

    /// Everything was told; what was not is gone.
    mutating func endReading(_ subject: Subject) -> [RouteEvent] {
        defer { abandonReading(subject) }
        let events: [RouteEvent] =
            switch subject {
            case .links:
                (unseenLinks ?? []).sorted().compactMap { links.removeValue(forKey: $0).map(RouteEvent.linkRemoved) }
            case .addresses:
                (unseenAddresses ?? []).compactMap { addresses.removeValue(forKey: $0).map(RouteEvent.addressRemoved) }
            case .routes: remove(defaultRoutes.intersection(unseenRoutes ?? []))
            }
        return events + uplinkChange()
    }

    /// The reading failed and proves nothing.
    mutating func abandonReading(_ subject: Subject) {
        switch subject {
        case .links: unseenLinks = nil
        case .addresses: unseenAddresses = nil
        case .routes: unseenRoutes = nil
        }
    }

    private func merge(_ report: LinkReport, _ kind: (LinkReport) -> Uplink) -> Link? {
        let known = links[report.index]
        guard let name = report.name ?? known?.name else { return nil }
        return Link(
            index: report.index, name: name, isUp: report.isUp, hasCarrier: report.hasCarrier,
            kind: known.flatMap { $0.name == name ? $0.kind : nil } ?? kind(report))
    }

    private mutating func remove(_ routes: Set<DefaultRoute>) -> [RouteEvent] {
        defaultRoutes.subtract(routes)
        return routes.sorted { $0.metric < $1.metric }.map(RouteEvent.defaultRouteRemoved)
    }

    private mutating func uplinkChange() -> [RouteEvent] {
        let best = bestUplink()
        guard best != uplink else { return [] }
        uplink = best
        return [.uplinkChanged(best)]
    }

    private func bestUplink() -> ActiveUplink? {
        let usable = defaultRoutes.filter { links[$0.index].map { $0.isUp && $0.hasCarrier } ?? false }
        // Metrics of the two families do not compare; IPv4 is what every network has.
        let best = usable.min { left, right in
            (left.family == .ipv4 ? 0 : 1, left.metric, left.index)
                < (right.family == .ipv4 ? 0 : 1, right.metric, right.index)
        }
        return best.flatMap { links[$0.index] }.map { link in
            ActiveUplink(kind: link.kind, interface: link.name, index: link.index)
        }
    }
}
