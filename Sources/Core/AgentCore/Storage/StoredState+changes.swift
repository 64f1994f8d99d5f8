import AgentModel
import AppProtocol
import KeyFile

extension StoredNetwork {
    package var password: Secret? {
        switch credential {
        case .none, .enterprise: nil
        case .passphrase(let password, _): password
        }
    }

    package var isEnterprise: Bool { if case .enterprise = credential { true } else { false } }

    /// Assumed security of a network that was never seen.
    package var likelySecurity: Security {
        switch credential {
        case .none: .open
        case .passphrase: .wpa2wpa3
        case .enterprise: .enterprise
        }
    }

    /// Whether name, password and hidden flag match. Other data, such as the static address, may differ.
    package func isSame(as other: StoredNetwork) -> Bool {
        hasSameKey(as: other) && isHidden == other.isHidden
    }

    package func hash(localKey: Secret) -> NetworkHash {
        if case .enterprise(let credential) = credential {
            NetworkHash(localKey: localKey, ssid: ssid, enterprise: credential)
        } else {
            NetworkHash(localKey: localKey, ssid: ssid, password: password)
        }
    }
}

extension [StoredNetwork] {
    /// Returns the position of the network with this name and password, otherwise of the only one with this name.
    package func index(for network: StoredNetwork) -> Int? {
        let named = indices.filter { self[$0].ssid == network.ssid }
        return named.first { self[$0].hasSameKey(as: network) } ?? (named.count == 1 ? named[0] : nil)
    }
}

extension StoredNetwork {
    fileprivate mutating func apply(_ addressing: Addressing?, _ change: NetworkOptions.Change) {
        if let addressing { staticAddress = addressing.address }
        options = options.changed(by: change)
    }

    /// Takes what the owner may set besides the credential and the security.
    package mutating func takeOwnerSettings(of network: StoredNetwork) {
        (staticAddress, options) = (network.staticAddress, network.options)
    }

    /// Whether the network has a password and does not require WPA3.
    fileprivate var canAllowTKIP: Bool { password != nil && !minimumSecurity.contains(.sae) }
}

/// List of backups from an app, with derived keys.
package struct PreparedUpdate: Sendable, Equatable {
    package enum Entry: Sendable, Equatable {
        /// - Parameters:
        ///   - addressing: New addressing of the network; nil if unchanged.
        ///   - options: Change of the network's options.
        case stored(NetworkHash, addressing: Addressing? = nil, options: NetworkOptions.Change = .init())
        /// Network described completely by the user.
        case new(StoredNetwork)
    }

    /// How an update changes the home network.
    package enum Home: Sendable, Equatable {
        case replaced(by: Entry)
        case forgotten
    }

    package let entries: [Entry]
    package let ifRevision: Int?
    /// New home network; nil if unchanged.
    package let home: Home?

    package init(entries: [Entry], ifRevision: Int?, home: Home? = nil) {
        (self.entries, self.ifRevision, self.home) = (entries, ifRevision, home)
    }

    /// Replaces the network's hash with the network, unless the network is stored.
    func naming(_ network: StoredNetwork, localKey: Secret, in state: StoredState) -> PreparedUpdate {
        let hash = network.hash(localKey: localKey)
        guard state.network(hash, localKey: localKey) == nil else { return self }
        func named(_ entry: Entry) -> Entry {
            guard case .stored(hash, let addressing, let options) = entry else { return entry }
            var network = network
            network.apply(addressing, options)
            return .new(network)
        }
        let home: Home? = if case .replaced(let entry) = home { .replaced(by: named(entry)) } else { home }
        return PreparedUpdate(entries: entries.map(named), ifRevision: ifRevision, home: home)
    }
}

extension PreparedUpdate {
    fileprivate var words: [StoredNetwork] {
        (entries + [home?.entry].compactMap(\.self)).compactMap {
            if case .new(let network) = $0 { network } else { nil }
        }
    }
}

extension PreparedUpdate.Home {
    fileprivate var entry: PreparedUpdate.Entry? {
        if case .replaced(let entry) = self { entry } else { nil }
    }
}

extension StoredState {
    /// All stored networks, also with staged passwords. An app can name each by its hash.
    package var namedNetworks: [StoredNetwork] { backups + [home, chosen].compactMap(\.self) + stagedNetworks }

    /// Preferred network: the last target of a switch, else the home network.
    package var preferred: StoredNetwork? { chosen ?? home }

    package func holds(_ network: StoredNetwork) -> Bool { namedNetworks.contains { $0.isSame(as: network) } }

    package func network(_ hash: NetworkHash, localKey: Secret) -> StoredNetwork? {
        namedNetworks.first { $0.hash(localKey: localKey) == hash }
    }

    /// Replaces all backups, and the home network if requested. New backups alone do not change the preferred network.
    /// - Throws: `ProtocolError`, with the state unchanged.
    package mutating func apply(_ update: PreparedUpdate, localKey: Secret) throws(ProtocolError) {
        if let expected = update.ifRevision, expected != Int(clamping: backupsRevision) {
            throw ProtocolError(
                .revisionConflict, "the list has revision \(backupsRevision), not \(expected)",
                details: ["revision": .number(Int(clamping: backupsRevision))])
        }
        var networks: [StoredNetwork] = []
        for entry in update.entries {
            let network = try resolve(entry, localKey: localKey)
            guard !networks.contains(where: { $0.hasSameKey(as: network) }) else {
                throw ProtocolError(.duplicateNetwork, "\(network.ssid) is in the list twice, with the same password")
            }
            networks.append(network)
        }
        let belongs = try update.home.map { home throws(ProtocolError) in
            try home.entry.map { entry throws(ProtocolError) in try resolve(entry, localKey: localKey) }
        }
        let isHomeNews = belongs.map { $0 != home || chosen != nil } ?? false
        let words = update.words
        let isFloorNews = words.contains { statistics[$0.ssid]?.learnedMinimumSecurity != nil }
        guard networks != backups || isHomeNews || isFloorNews else { return }
        for network in words { applyUserSetting(for: network) }
        for network in networks where !holds(network) { forgetExperience(with: network.ssid) }
        if let index = chosen.flatMap(networks.index) { chosen = networks[index] }
        if let belongs {
            if let belongs, !holds(belongs) { forgetExperience(with: belongs.ssid) }
            (home, chosen) = (belongs, nil)
        }
        backups = networks
        for network in networks { shareOwnerSettings(of: network) }
        if let belongs, let belongs { shareOwnerSettings(of: belongs) }
        backupsRevision &+= 1
        reviewStaged()
    }

    private mutating func shareOwnerSettings(of network: StoredNetwork) {
        changeNetworks { if $0.hasSameKey(as: network) { $0.takeOwnerSettings(of: network) } }
    }

    private func resolve(
        _ entry: PreparedUpdate.Entry, localKey: Secret
    ) throws(ProtocolError) -> StoredNetwork {
        switch entry {
        case .new(let network):
            guard var known = namedNetworks.first(where: { $0.isSame(as: network) }) else { return network }
            known.applyUserSetting(of: network)
            return known
        case .stored(let hash, let addressing, let options):
            guard var network = network(hash, localKey: localKey) else {
                throw ProtocolError(
                    .unknownNetwork, "no stored network has this hash, send its password: \(hash)",
                    details: ["hash": .text(hash.base64)])
            }
            network.apply(addressing, options)
            guard !network.options.allowsTKIP || network.canAllowTKIP else {
                throw ProtocolError(
                    .unsupported, "TKIP can be allowed only with a WPA2 password: \(hash)",
                    details: ["hash": .text(hash.base64)])
            }
            return network
        }
    }

    /// Discards failures and verified access points of an old key.
    package mutating func forgetExperience(with ssid: SSID) {
        statistics[ssid]?.lastFailure = nil
        statistics[ssid]?.verifiedAccessPoints = []
    }

    /// Whether several keys are stored under this name, so that facts about access points are ambiguous.
    package func hasTwoKeys(of ssid: SSID) -> Bool {
        let named = namedNetworks.filter { $0.ssid == ssid }
        return named.contains { network in named.contains { !$0.hasSameKey(as: network) } }
    }

    /// Stores the target of a successful switch as preferred network. A verified password that no backup has replaces
    /// that of the home network and of the only backup with this name. The first network ever becomes the home network.
    package mutating func adopt(_ network: StoredNetwork) {
        let isNew = !holds(network)
        let network = namedNetworks.first { $0.isSame(as: network) } ?? network
        if isNew { forgetExperience(with: network.ssid) }
        let isBackup = backups.contains { $0.hasSameKey(as: network) }
        if let index = backups.index(for: network), !backups[index].isSame(as: network) {
            backups[index] = network
            backupsRevision &+= 1
        }
        if home.map({ $0.hasSameKey(as: network) || $0.ssid == network.ssid && !isBackup }) ?? isNew {
            if home?.isSame(as: network) != true { home = network }
            chosen = nil
        } else {
            chosen = network
        }
        if let newer = stagedNetwork(of: network.ssid), newer.hasSameKey(as: network),
            let entry = staged.first(where: { $0.phase == .staged && $0.ssid == network.ssid })
        {
            endRotation(entry.id, .committed)
        }
        reviewStaged()
    }
}
