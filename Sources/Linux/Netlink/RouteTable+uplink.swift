import AgentModel

extension RouteTable {
    /// What carries traffic to the rest of the world, a tunnel included.
    var bestUplink: ActiveUplink? { bestLink { _ in true }.map { uplink(over: $0) } }

    /// What carries the traffic out of the device: no tunnel and no bridge.
    var bestCarrier: Link? { bestLink(where: \.isCarrier) }

    func uplink(over link: Link) -> ActiveUplink {
        let lower = link.tunnel.flatMap(carrier(of:))
        return ActiveUplink(
            kind: link.kind, interface: link.name, index: link.index,
            carrier: lower.map { ActiveUplink.Carrier(kind: $0.kind, interface: $0.name, index: $0.index) })
    }

    /// The link by which a tunnel's packets leave the device, from the surest sign to the least:
    /// 1. the interface that the tunnel is tied to;
    /// 2. where its far end is known, the host route there, or the link that the far end is on;
    /// 3. the best default route that is no tunnel's;
    /// 4. the best host route through a gateway that is no tunnel's: where a VPN client has replaced the default route, it
    ///    has made this one to its server.
    func carrier(of tunnel: Link.Tunnel) -> Link? {
        var tunnel = tunnel
        // Tunnels in tunnels are tied to each other; so many are more than there are.
        for _ in 0..<8 {
            guard let lower = tunnel.lowerIndex.flatMap({ links[$0] }) else { break }
            guard let next = lower.tunnel else { return lower }
            tunnel = next
        }
        return tunnel.farEnd.flatMap(linkTowards) ?? bestCarrier ?? bestHostRoute { _ in true }
    }

    private func linkTowards(_ farEnd: IPAddress) -> Link? {
        if let link = bestHostRoute(where: { $0.destination == farEnd }) { return link }
        let onLink = addresses.values.filter { address in
            IPAddress(bytes: address.bytes)?.shares(prefix: address.prefixLength, with: farEnd) ?? false
        }
        return onLink.sorted { ($1.prefixLength, $0.index) < ($0.prefixLength, $1.index) }
            .lazy.compactMap { usableLink($0.index) }.first(where: \.isCarrier)
    }

    private func bestHostRoute(where matches: (HostRoute) -> Bool) -> Link? {
        let usable = hostRoutes.filter { matches($0) && usableLink($0.index)?.isCarrier ?? false }
        return usable.min { ($0.metric, $0.index) < ($1.metric, $1.index) }.flatMap { links[$0.index] }
    }

    private func bestLink(where matches: (Link) -> Bool) -> Link? {
        let usable = defaultRoutes.filter { usableLink($0.index).map(matches) ?? false }
        // Metrics of the two families do not compare; IPv4 is what every network has.
        let best = usable.min { left, right in
            (left.family == .ipv4 ? 0 : 1, left.metric, left.index)
                < (right.family == .ipv4 ? 0 : 1, right.metric, right.index)
        }
        return best.flatMap { links[$0.index] }
    }

    private func usableLink(_ index: Int) -> Link? { links[index].flatMap { $0.isUp && $0.hasCarrier ? $0 : nil } }
}
