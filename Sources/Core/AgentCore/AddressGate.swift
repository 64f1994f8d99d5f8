/// Tells when a link that was just made can carry traffic: an address that belongs to it, and a default route through a
/// gateway that this address reaches.
///
/// An address left over from the network before does not count. The DHCP client needs a moment to notice the change, and
/// until then the old address and route look as good as new.
struct AddressGate: Hashable {
    /// Addresses that were there before and were not confirmed since.
    private var stale: Set<Key> = []

    private struct Key: Hashable {
        let isIPv4: Bool
        let bytes: [UInt8]

        init(_ address: LinkAddress) {
            isIPv4 = address.isIPv4
            bytes = address.bytes
        }
    }

    /// A join to another network begins: from now on only addresses that are set anew count.
    mutating func close(over addresses: [LinkAddress]) { stale = Set(addresses.map(Key.init)) }

    /// All addresses count: the link was there before the agent started, or leads to the same network as the last one.
    mutating func open() { stale = [] }

    mutating func added(_ address: LinkAddress) { stale.remove(Key(address)) }
    mutating func removed(_ address: LinkAddress) { stale.remove(Key(address)) }

    /// - Parameters: those of the interface.
    func isReady(addresses: [LinkAddress], routes: [LinkRoute]) -> Bool {
        addresses.contains { address in
            isUsable(address) && routes.contains { $0.isIPv4 == address.isIPv4 && reaches($0.gateway, from: address) }
        }
    }

    private func isUsable(_ address: LinkAddress) -> Bool {
        address.isGlobal && !address.isTentative && !stale.contains(Key(address))
    }

    private func reaches(_ gateway: [UInt8]?, from address: LinkAddress) -> Bool {
        // IPv6 routers are link-local to every address, and an address of its own reaches its gateway by the link
        // alone.
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
