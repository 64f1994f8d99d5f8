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

    /// Whether its credential is a user's.
    package var isEnterprise: Bool { if case .enterprise = credential { true } else { false } }

    /// As it is told before it was seen in the air.
    package var likelySecurity: Security {
        switch credential {
        case .none: .open
        case .passphrase: .wpa2wpa3
        case .enterprise: .enterprise
        }
    }

    /// Whether it is the same network under the same password, whatever is known of it besides, the device's address in
    /// it included.
    package func isSame(as other: StoredNetwork) -> Bool {
        hasSameKey(as: other) && isHidden == other.isHidden
    }

    /// Whether it is the same network under the same password, whether its name is hidden or not.
    package func hasSameKey(as other: StoredNetwork) -> Bool { ssid == other.ssid && credential == other.credential }

    package func hash(localKey: Secret) -> NetworkHash {
        if case .enterprise(let credential) = credential {
            NetworkHash(localKey: localKey, ssid: ssid, enterprise: credential)
        } else {
            NetworkHash(localKey: localKey, ssid: ssid, password: password)
        }
    }
}

/// A list of backups from the app, its new networks ready to be stored.
package struct PreparedUpdate: Sendable, Equatable {
    package enum Entry: Sendable, Equatable {
        /// - Parameter addressing: how the device gets its address in it from now on; nil where that stays.
        case stored(NetworkHash, addressing: Addressing? = nil)
        /// With the owner's word, which says it all.
        case new(StoredNetwork)
    }

    /// What becomes of the network that the device belongs in.
    package enum Home: Sendable, Equatable {
        case replaced(by: Entry)
        case forgotten
    }

    package let entries: [Entry]
    package let ifRevision: Int?
    /// Nil where that stays.
    package let home: Home?

    package init(entries: [Entry], ifRevision: Int?, home: Home? = nil) {
        (self.entries, self.ifRevision, self.home) = (entries, ifRevision, home)
    }

    /// The same with a network that is not stored in place of its hash.
    func naming(_ network: StoredNetwork, localKey: Secret, in state: StoredState) -> PreparedUpdate {
        let hash = network.hash(localKey: localKey)
        guard state.network(hash, localKey: localKey) == nil else { return self }
        func named(_ entry: Entry) -> Entry {
            guard case .stored(hash, addressing: let addressing) = entry else { return entry }
            var network = network
            if let addressing { network.staticAddress = addressing.address }
            return .new(network)
        }
        let home: Home? = if case .replaced(let entry) = home { .replaced(by: named(entry)) } else { home }
        return PreparedUpdate(entries: entries.map(named), ifRevision: ifRevision, home: home)
    }
}

extension PreparedUpdate {
    /// The networks of which the owner says everything.
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
    /// Every network that a hash can name: those the device has a password of.
    package var namedNetworks: [StoredNetwork] { backups + [home, chosen].compactMap(\.self) + stagedNetworks }

    /// The network that the device belongs in: the last one that it was switched to, else the one it was provisioned
    /// with.
    package var preferred: StoredNetwork? { chosen ?? home }

    package func holds(_ network: StoredNetwork) -> Bool { namedNetworks.contains { $0.isSame(as: network) } }

    package func network(_ hash: NetworkHash, localKey: Secret) -> StoredNetwork? {
        namedNetworks.first { $0.hash(localKey: localKey) == hash }
    }

    /// Replaces the list of backups as a whole, and the home where that is asked for, or throws and leaves them as they
    /// are. The list alone changes nothing of where the device belongs.
    package mutating func apply(_ update: PreparedUpdate, localKey: Secret) throws(ProtocolError) {
        if let expected = update.ifRevision, expected != Int(clamping: backupsRevision) {
            throw ProtocolError(
                .revisionConflict, "the list has revision \(backupsRevision), not \(expected)",
                details: ["revision": .number(Int(clamping: backupsRevision))])
        }
        var networks: [StoredNetwork] = []
        for entry in update.entries {
            let network = try resolve(entry, localKey: localKey)
            guard !networks.contains(where: { $0.ssid == network.ssid }) else {
                throw ProtocolError(.duplicateNetwork, "\(network.ssid) is in the list twice")
            }
            networks.append(network)
        }
        let belongs = try update.home.map { home throws(ProtocolError) in
            try home.entry.map { entry throws(ProtocolError) in try resolve(entry, localKey: localKey) }
        }
        let isHomeNews = belongs.map { $0 != home || chosen != nil } ?? false
        let words = update.words
        let isFloorNews = words.contains { statistics[$0.ssid]?.learnedFloor != nil }
        guard networks != backups || isHomeNews || isFloorNews else { return }
        for network in words { takeWord(for: network) }
        for network in networks where !holds(network) { forgetExperience(with: network.ssid) }
        if let former = chosen {
            if let listed = networks.first(where: { $0.ssid == former.ssid }) { chosen = listed }
        }
        if let belongs {
            if let belongs, !holds(belongs) { forgetExperience(with: belongs.ssid) }
            (home, chosen) = (belongs, nil)
        }
        backups = networks
        for network in networks { setAddress(network.staticAddress, in: network) }
        if let belongs, let belongs { setAddress(belongs.staticAddress, in: belongs) }
        backupsRevision &+= 1
        reviewStaged()
    }

    /// Gives each copy of a network this address, whether its name is hidden or not.
    private mutating func setAddress(_ address: StaticAddress?, in network: StoredNetwork) {
        changeNetworks { if $0.hasSameKey(as: network) { $0.staticAddress = address } }
    }

    private func resolve(
        _ entry: PreparedUpdate.Entry, localKey: Secret
    ) throws(ProtocolError) -> StoredNetwork {
        switch entry {
        case .new(let network):
            guard var known = namedNetworks.first(where: { $0.isSame(as: network) }) else { return network }
            known.takeWord(of: network)
            return known
        case .stored(let hash, let addressing):
            guard var network = network(hash, localKey: localKey) else {
                throw ProtocolError(
                    .unknownNetwork, "no stored network has the hash \(hash), so its password is needed",
                    details: ["hash": .text(hash.base64)])
            }
            if let addressing { network.staticAddress = addressing.address }
            return network
        }
    }

    /// A network has another key from now on: what failed with the old one says nothing, nor which access points it
    /// opened.
    package mutating func forgetExperience(with ssid: SSID) {
        statistics[ssid]?.lastFailure = nil
        statistics[ssid]?.provenAccessPoints = []
    }

    /// Whether networks of this name are stored under several keys: what is known of access points may be about either.
    package func hasTwoKeys(of ssid: SSID) -> Bool {
        let named = namedNetworks.filter { $0.ssid == ssid }
        return named.contains { network in named.contains { !$0.hasSameKey(as: network) } }
    }

    /// A commanded switch worked: the network is kept, and is the one that the device belongs in. Its password is
    /// proven, so it replaces whatever else is stored under its name; the first network that a device is ever sent to
    /// is its home.
    package mutating func adopt(_ network: StoredNetwork) {
        let isNew = !holds(network)
        let network = namedNetworks.first { $0.isSame(as: network) } ?? network
        if isNew { forgetExperience(with: network.ssid) }
        if let index = backups.firstIndex(where: { $0.ssid == network.ssid }), !backups[index].isSame(as: network) {
            backups[index] = network
            backupsRevision &+= 1
        }
        if home?.ssid == network.ssid || (home == nil && isNew) {
            if home?.isSame(as: network) != true { home = network }
            chosen = nil
        } else {
            chosen = network
        }
        if let newer = stagedNetwork(of: network.ssid), newer.hasSameKey(as: network),
            let entry = staged.first(where: { $0.phase == .staged && $0.ssid == network.ssid })
        {
            endStaged(entry.id, .committed)
        }
        reviewStaged()
    }
}
