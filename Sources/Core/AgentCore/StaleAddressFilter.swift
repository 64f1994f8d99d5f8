/// Checks that a new link can carry traffic. It needs its own address and a default route through a reachable gateway.
/// Addresses of the previous network do not count, because the DHCP client removes them late.
struct StaleAddressFilter: Hashable {
    /// Addresses from before the join that have not been set again.
    private var stale: Set<Key> = []

    private struct Key: Hashable {
        let isIPv4: Bool
        let bytes: [UInt8]

        init(_ address: LinkAddress) {
            isIPv4 = address.isIPv4
            bytes = address.bytes
        }
    }

    /// Starts a join to another network: only addresses that are set from now on count.
    mutating func markStale(over addresses: [LinkAddress]) { stale = Set(addresses.map(Key.init)) }

    /// Accepts all addresses: the link existed at the start, or leads to the same network again.
    mutating func clear() { stale = [] }

    mutating func added(_ address: LinkAddress) { stale.remove(Key(address)) }
    mutating func removed(_ address: LinkAddress) { stale.remove(Key(address)) }

    func isReady(addresses: [LinkAddress], routes: [LinkRoute]) -> Bool {
        addresses.contains { address in
            isUsable(address) && routes.contains { $0.isIPv4 == address.isIPv4 && reaches($0.gateway, from: address) }
        }
    }

    private func isUsable(_ address: LinkAddress) -> Bool {
        address.isGlobal && !address.isTentative && !stale.contains(Key(address))
    }

    private func reaches(_ gateway: [UInt8]?, from address: LinkAddress) -> Bool {
        // An IPv6 router is link-local. An IPv4 address with a /32 prefix reaches its gateway on-link.
        guard let gateway, address.isIPv4, address.prefixLength < 32 else { return true }
        return prefix(of: gateway, address.prefixLength) == prefix(of: address.bytes, address.prefixLength)
    }

    private func prefix(of bytes: [UInt8], _ length: Int) -> [UInt8] {
        bytes.enumerated().map { index, byte in
            let bits = min(max(length - 8 * index, 0), 8)
            return bits == 0 ? 0 : byte & (0xff << UInt8(8 - bits))
        }
    }
}
