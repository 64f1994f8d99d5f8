import AgentModel
import CNetlink

/// Multipath TCP endpoints (RFC 8684): one per station and address family. Endpoints of the unused station are backups.
/// They carry traffic only if the others are removed.
struct MultipathPlan: Equatable {
    private(set) var endpoints: [UInt8: Endpoint] = [:]

    struct Endpoint: Equatable {
        let address: IPAddress
        let index: Int
        var isBackup: Bool
    }

    enum Change: Equatable {
        case use(UInt8, Endpoint)
        case remove(UInt8, Endpoint)
        case add(UInt8, Endpoint)
    }

    /// IDs reserved for the agent: IPv4 and IPv6 of the first station, then of the second. Only the ID identifies the
    /// agent's endpoints in the kernel.
    static let ids: [UInt8] = [163, 164, 165, 166]

    init() {}

    /// - Parameters:
    ///   - stations: at most two interface indices in a fixed order; nil if missing or down.
    ///   - used: index of the station in use.
    init(stations: [Int?], used: Int?, addresses: [InterfaceAddress]) {
        for (position, station) in stations.prefix(2).enumerated() {
            guard let station else { continue }
            let own = addresses.filter { $0.index == station && $0.scope == .global && !$0.isTentative }
                .sorted { Hex.string($0.bytes) < Hex.string($1.bytes) }
            for (place, family) in [AddressFamily.ipv4, .ipv6].enumerated() {
                guard let address = own.first(where: { $0.family == family }).flatMap({ IPAddress(bytes: $0.bytes) })
                else { continue }
                endpoints[Self.ids[2 * position + place]] = Endpoint(
                    address: address, index: station, isBackup: station != used)
            }
        }
    }

    /// Changes from `before`, in order: the new active endpoint leaves backup mode before others are removed.
    func changes(from before: MultipathPlan) -> [Change] {
        var used: [Change] = []
        var removed: [Change] = []
        var added: [Change] = []
        for id in Self.ids {
            switch (before.endpoints[id], endpoints[id]) {
            case (let old?, let new?) where old == new: break
            case (let old?, let new?) where old.address == new.address && old.index == new.index:
                used.append(.use(id, new))
            case (let old, let new):
                if let old { removed.append(.remove(id, old)) }
                if let new { added.append(.add(id, new)) }
            }
        }
        let isFirst = { (change: Change) in if case .use(_, let endpoint) = change { !endpoint.isBackup } else { false }
        }
        return used.filter(isFirst) + removed + used.filter { !isFirst($0) } + added
    }
}

extension NetlinkRequest {
    /// Requests of the kernel's path manager (linux/mptcp.h).
    static func multipath(_ change: MultipathPlan.Change, family: UInt16) -> [NetlinkRequest] {
        switch change {
        case .use(let id, let endpoint):
            [multipath(MPTCP_PM_CMD_SET_FLAGS, id, endpoint, family: family)]
        case .add(let id, let endpoint):
            [multipath(MPTCP_PM_CMD_ADD_ADDR, id, endpoint, family: family)]
        case .remove(let id, let endpoint):
            // Connections opened from the address know it as ID 0.
            [
                multipath(MPTCP_PM_CMD_DEL_ADDR, id, endpoint, family: family),
                multipath(MPTCP_PM_CMD_DEL_ADDR, 0, endpoint, family: family),
            ]
        }
    }

    private static func multipath(
        _ command: some BinaryInteger, _ id: UInt8, _ endpoint: MultipathPlan.Endpoint, family: UInt16
    ) -> NetlinkRequest {
        var request = NetlinkRequest(family: family, command: UInt8(command))
        request.attributes.putNested(Int(MPTCP_PM_ATTR_ADDR)) { attributes in
            let address = endpoint.address
            attributes.put(Int(MPTCP_PM_ADDR_ATTR_FAMILY), UInt16(address.family.number))
            attributes.put(Int(MPTCP_PM_ADDR_ATTR_ID), id)
            attributes.put(
                Int(address.isIPv4 ? MPTCP_PM_ADDR_ATTR_ADDR4 : MPTCP_PM_ADDR_ATTR_ADDR6), bytes: address.bytes)
            attributes.put(Int(MPTCP_PM_ADDR_ATTR_IF_IDX), Int32(clamping: endpoint.index))
            let backup = endpoint.isBackup ? UInt32(MPTCP_PM_ADDR_FLAG_BACKUP) : 0
            attributes.put(Int(MPTCP_PM_ADDR_ATTR_FLAGS), UInt32(MPTCP_PM_ADDR_FLAG_SUBFLOW) | backup)
        }
        return request
    }
}
