import AgentModel

/// Checks that a new link can carry traffic. The link needs a global address, and a default route unless the network
/// has no router. Addresses and routes of the previous network do not count: a DHCP client removes them late.
struct StaleAddressFilter: Hashable {
    /// Addresses from before the join that have not been set again.
    private var stale: Set<[UInt8]> = []
    /// Default routes from before the join that have not been set again.
    private var staleRoutes: Set<DefaultRoute> = []
    /// Address in a network without a router.
    var withoutRouter: IPAddress?

    /// Starts a join to another network: only addresses and routes that are set from now on count.
    mutating func markStale(_ addresses: [InterfaceAddress], _ routes: [DefaultRoute]) {
        (stale, staleRoutes, withoutRouter) = (Set(addresses.map(\.bytes)), Set(routes), nil)
    }

    /// Accepts all addresses: the link existed at the start, or is in the same network as before.
    mutating func clear() { (stale, staleRoutes) = ([], []) }

    mutating func added(_ address: InterfaceAddress) { stale.remove(address.bytes) }
    mutating func removed(_ address: InterfaceAddress) { stale.remove(address.bytes) }
    mutating func added(_ route: DefaultRoute) { staleRoutes.remove(route) }
    mutating func removed(_ route: DefaultRoute) { staleRoutes.remove(route) }

    func isReady(addresses: [InterfaceAddress], routes: [DefaultRoute]) -> Bool {
        addresses.contains { address in
            guard isUsable(address) else { return false }
            return address.bytes == withoutRouter?.bytes
                || routes.contains { $0.family == address.family && reaches($0, from: address) }
        }
    }

    /// Returns the IPv4 address of a link that only lacks a default route; nil if the link is ready, or has no other
    /// address than a link-local one.
    func addressWithoutRoute(addresses: [InterfaceAddress], routes: [DefaultRoute]) -> IPAddress? {
        guard !isReady(addresses: addresses, routes: routes) else { return nil }
        return addresses.filter { $0.family == .ipv4 && isUsable($0) }.compactMap { IPAddress(bytes: $0.bytes) }
            .first { !$0.isLinkLocal }
    }

    private func isUsable(_ address: InterfaceAddress) -> Bool {
        address.scope == .global && !address.isTentative && !stale.contains(address.bytes)
    }

    private func reaches(_ route: DefaultRoute, from address: InterfaceAddress) -> Bool {
        // Some routers are outside the subnet, and IPv6 routers have link-local addresses.
        guard staleRoutes.contains(route), let gateway = route.gateway, address.family == .ipv4,
            address.prefixLength < 32
        else { return true }
        return prefix(of: gateway, address.prefixLength) == prefix(of: address.bytes, address.prefixLength)
    }

    private func prefix(of bytes: [UInt8], _ length: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let bits = min(max(length - 8 * index, 0), 8)
            return bits == 0 ? 0 : byte & (0xff << UInt8(8 - bits))
        }
    }
}
