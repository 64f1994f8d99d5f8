import AgentModel
import KeyFile

// A network's security floor: it rises with what joins negotiate, and only the owner lowers it.

extension StoredState {
    /// A link to a network was made that has this protection: with less it is not made again.
    /// - Parameter security: how the access point has authenticated the device, where that is known.
    package mutating func raise(_ network: StoredNetwork, to protection: LinkProtection, _ security: Security?) {
        changeCopies { if $0.isSame(as: network) { $0.raise(to: protection, security) } }
    }

    /// The owner has sent a network with its password, or said that it has none: what was learnt of it counts no more.
    package mutating func takeWord(for network: StoredNetwork) {
        changeCopies { copy in
            if copy.isSame(as: network) {
                copy.takeWord(of: network)
            } else if copy.hasSameKey(as: network) {
                copy.staticAddress = network.staticAddress
            }
        }
    }

    /// A network is stored once for each of its roles.
    private mutating func changeCopies(_ change: (inout StoredNetwork) -> Void) {
        if var network = home {
            change(&network)
            home = network
        }
        if var network = chosen {
            change(&network)
            chosen = network
        }
        if var target = pendingSwitch?.target {
            change(&target)
            pendingSwitch?.target = target
        }
        for index in backups.indices { change(&backups[index]) }
    }
}

extension StoredNetwork {
    fileprivate mutating func raise(to protection: LinkProtection, _ new: Security?) {
        floor.formUnion(protection)
        if let new, security.map({ $0.isWeaker(than: new) }) ?? true { security = new }
    }

    /// - Parameter network: the same as its owner describes it.
    package mutating func takeWord(of network: StoredNetwork) {
        // Its security of before says nothing where the owner allows less.
        security = network.security ?? (floor == network.floor ? security : nil)
        floor = network.floor
        staticAddress = network.staticAddress
    }
}

extension Security {
    /// Whether a network of which this was known has shown more.
    fileprivate func isWeaker(than other: Security) -> Bool {
        switch (self, other) {
        case (.open, .owe), (.wpa2, .wpa3), (.wpa2wpa3, .wpa3): true
        case (.unknown, _), (.wep, _), (.legacy, _), (.enterprise, _): true
        default: false
        }
    }
}
