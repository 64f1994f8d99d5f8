import AgentModel

/// Checks that a new link can carry traffic. The link needs a global address and a default route through a reachable
/// gateway. Addresses of the previous network do not count, because the DHCP client removes them late.
struct StaleAddressFilter: Hashable {
    /// Addresses from before the join that have not been set again.
    private var stale: Set<[UInt8]> = []

    /// Starts a join to another network: only addresses that are set from now on count.
    mutating func markStale(over addresses: [InterfaceAddress]) { stale = Set(addresses.map(\.bytes)) }

    /// Accepts all addresses: the link existed at the start, or is in the same network as before.
    mutating func clear() { stale = [] }

    mutating func added(_ address: InterfaceAddress) { stale.remove(address.bytes) }
    mutating func removed(_ address: InterfaceAddress) { stale.remove(address.bytes) }

    func isReady(addresses: [InterfaceAddress], routes: [DefaultRoute]) -> Bool {
        addresses.contains { address in
            isUsable(address) && routes.contains { $0.family == address.family && reaches($0.gateway, from: address) }
        }
    }

    private func isUsable(_ address: InterfaceAddress) -> Bool {
        address.scope == .global && !address.isTentative && !stale.contains(address.bytes)
    }

    private func reaches(_ gateway: [UInt8]?, from address: InterfaceAddress) -> Bool {
        // IPv6 routers have link-local addresses. With a /32 prefix, the IPv4 gateway is on-link.
        guard let gateway, address.family == .ipv4, address.prefixLength < 32 else { return true }
        return prefix(of: gateway, address.prefixLength) == prefix(of: address.bytes, address.prefixLength)
    }

    private func prefix(of bytes: [UInt8], _ length: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let bits = min(max(length - 8 * index, 0), 8)
            return bits == 0 ? 0 : byte & (0xff << UInt8(8 - bits))
        }
    }
}
