import AgentModel
import Failover
import KeyFile

/// Assigns policy IDs to stored networks. A new password means a new ID, so earlier failures do not count.
package struct NetworkRegistry {
    private var networks: [NetworkID: StoredNetwork] = [:]
    private var lastID = 0

    package init() {}

    /// Returns the networks that may be joined, in the order of preference: preferred, home, backups, staged, target
    /// and origin of a running switch. Manual backups are left out. `inUse` stays in the registry in any case.
    /// - Parameter refusing: Networks that refuse their stored password. If the preferred network is one of them, its
    ///   staged password is preferred.
    package mutating func known(
        in state: StoredState, target: StoredNetwork? = nil, origin: StoredNetwork? = nil,
        refusing: Set<NetworkID> = [], keeping inUse: NetworkID? = nil
    ) -> [KnownNetwork] {
        var seen: Set<NetworkID> = []
        let staged = state.stagedNetworks
        var preferred = state.preferred
        if let old = preferred, let id = id(of: old), refusing.contains(id),
            let newer = staged.first(where: { $0.ssid == old.ssid })
        {
            preferred = newer
        }
        let target = state.pendingSwitch?.target ?? target
        // A manual network that is joined all the same needs its new password, too.
        let joined = Set([state.preferred, state.home, target].compactMap { $0?.ssid })
        let ordered =
            [state.preferred, state.home].compactMap(\.self)
            + state.backups.filter { !$0.options.isManual }
            + staged.filter { !$0.options.isManual || joined.contains($0.ssid) }
            + [target, origin].compactMap(\.self)
        let known = ordered.compactMap { network -> KnownNetwork? in
            let id = number(of: network)
            guard seen.insert(id).inserted else { return nil }
            // The first copy is the stored one. A switch may use an older copy.
            networks[id] = network
            return KnownNetwork(
                id: id, ssid: network.ssid, usesPassphrase: network.credential != .none,
                isEnterprise: network.isEnterprise, isHidden: network.isHidden,
                isPreferred: preferred?.isSame(as: network) ?? false,
                minimumSecurity: network.minimumSecurity.union(state.learnedProtection(of: network)),
                allowsTKIP: network.options.allowsTKIP,
                band: network.options.band, bssid: network.options.bssid)
        }
        // One that may not be joined any more stays joined, with its present options.
        if let inUse, !seen.contains(inUse), let old = networks[inUse],
            let stored = state.namedNetworks.first(where: { $0.isSame(as: old) })
        {
            networks[inUse] = stored
        }
        networks = networks.filter { seen.contains($0.key) || $0.key == inUse }
        return known
    }

    /// Forgets all other networks, so that passwords do not stay in memory.
    mutating func forget(allBut networks: some Sequence<NetworkID>) {
        let kept = Set(networks)
        self.networks = self.networks.filter { kept.contains($0.key) }
    }

    private mutating func number(of network: StoredNetwork) -> NetworkID {
        if let id = id(of: network) { return id }
        lastID += 1
        let id = NetworkID(lastID)
        networks[id] = network
        return id
    }

    package subscript(id: NetworkID) -> StoredNetwork? { networks[id] }

    func id(of network: StoredNetwork) -> NetworkID? { networks.first { $0.value.isSame(as: network) }?.key }

    /// Returns a network with this name: `lastUsed` if it has the name, otherwise the first one.
    package func id(
        named ssid: SSID, lastUsed: StoredNetwork? = nil, except excluded: NetworkID? = nil
    ) -> NetworkID? {
        if let lastUsed, lastUsed.ssid == ssid, let id = id(of: lastUsed), id != excluded { return id }
        return networks.filter { $0.key != excluded && $0.value.ssid == ssid }.keys.min()
    }
}
