import AgentModel
import Failover
import KeyFile

/// Gives each stored network the number by which the policy knows it. A network that comes back with another password
/// is another network: nothing that was held against it counts any more.
package struct NetworkBook {
    private var networks: [NetworkID: StoredNetwork] = [:]
    private var lastID = 0

    package init() {}

    /// The networks that may be joined, in the order of preference: the one that the device belongs in, home, the
    /// backups, and the target of a commanded switch that is under way with the network that it came from.
    ///
    /// - Parameters:
    ///   - refusing: those that refuse the password that they are stored with. Where a newer one of the preferred network is
    ///     staged, the device belongs in that.
    ///   - inUse: kept in the book, although it may not be one to join any more.
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
        let ordered =
            [state.preferred, state.home].compactMap(\.self) + state.backups + staged
            + [state.pendingSwitch?.target ?? target, origin].compactMap(\.self)
        let known = ordered.compactMap { network -> KnownNetwork? in
            let id = number(of: network)
            guard seen.insert(id).inserted else { return nil }
            // The first is the stored one. A switch may have been ordered with an older copy.
            networks[id] = network
            return KnownNetwork(
                id: id, ssid: network.ssid, usesPassphrase: network.credential != .none,
                isEnterprise: network.isEnterprise, isHidden: network.isHidden,
                isPreferred: preferred?.isSame(as: network) ?? false,
                floor: network.floor.union(state.learnedProtection(of: network)))
        }
        networks = networks.filter { seen.contains($0.key) || $0.key == inUse }
        return known
    }

    /// Passwords stay in memory for no longer than they are of use.
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

    /// The network by this name that the device is most likely in: which of several with one name, its name cannot
    /// tell.
    package func id(named ssid: SSID) -> NetworkID? { networks.filter { $0.value.ssid == ssid }.keys.min() }
}
