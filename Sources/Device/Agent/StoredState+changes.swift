import AgentModel
import AppProtocol
import KeyFile

extension StoredNetwork {
    /// Derives the network's key, which takes milliseconds.
    init(_ network: DecryptedNetwork) throws(ProtocolError) {
        var credential = JoinRequest.Credential.none
        if let password = network.password {
            do { try Passphrase.validate(password) } catch { throw ProtocolError(.invalidPassword, "\(error)") }
            credential = .passphrase(password, psk: PreSharedKey.derive(from: password, ssid: network.ssid))
        }
        self.init(
            ssid: network.ssid, credential: credential, security: network.security,
            floor: LinkProtection(promisedBy: network.security), isHidden: network.isHidden)
    }

    /// The same, after its password was opened if it is sealed.
    /// - Parameter field: where in the request it stands, as in `body.networks[1]`.
    /// - Throws: what is wrong with the password, with the member that has it.
    init(_ network: NewNetwork, at field: String, openedWith seals: SealOpener) throws(ProtocolError) {
        do throws(ProtocolError) {
            try self.init(DecryptedNetwork(network, openedWith: seals))
        } catch {
            throw switch network.credential {
            case .none: error
            case .password: error.about(field + ".password")
            case .sealed: error.about(field + ".sealed")
            }
        }
    }

    var password: Secret? {
        switch credential {
        case .none: nil
        case .passphrase(let password, _): password
        }
    }

    /// Whether it is the same network under the same password, whatever is known of it besides.
    func isSame(as other: StoredNetwork) -> Bool {
        hasSameKey(as: other) && isHidden == other.isHidden
    }

    /// Whether it is the same network under the same password, whether its name is hidden or not.
    func hasSameKey(as other: StoredNetwork) -> Bool { ssid == other.ssid && credential == other.credential }

    func hash(localKey: Secret) -> NetworkHash { NetworkHash(localKey: localKey, ssid: ssid, password: password) }
}

/// A list of backups from the app, its new networks ready to be stored.
struct PreparedUpdate: Sendable {
    enum Entry: Sendable {
        case stored(NetworkHash)
        case new(StoredNetwork)
    }

    let entries: [Entry]
    let ifRevision: Int?

    /// Opens what is sealed and derives the keys: of all networks, or the list is refused.
    /// - Parameter maximum: checked first, for deriving the keys of a thousand networks would take a minute.
    init(_ update: BackupsUpdate, maximum: Int, seals: SealOpener) throws(ProtocolError) {
        guard update.networks.count <= maximum else {
            throw ProtocolError(
                .tooManyNetworks, "\(update.networks.count) networks are more than the maximum of \(maximum)",
                details: ["max": .number(maximum), "count": .number(update.networks.count)])
        }
        var entries: [Entry] = []
        for (index, network) in update.networks.enumerated() {
            switch network {
            case .stored(let hash): entries.append(.stored(hash))
            case .new(let network):
                let field = "body.networks[\(index)]"
                entries.append(.new(try StoredNetwork(network, at: field, openedWith: seals)))
            }
        }
        self.entries = entries
        ifRevision = update.ifRevision
    }
}

extension StoredState {
    /// Every network that a hash can name: those the device has a password of.
    var namedNetworks: [StoredNetwork] { backups + [home, chosen].compactMap(\.self) }

    /// The network that the device belongs in: the last one that it was switched to, else the one it was provisioned with.
    var preferred: StoredNetwork? { chosen ?? home }

    func holds(_ network: StoredNetwork) -> Bool { namedNetworks.contains { $0.isSame(as: network) } }

    func network(_ hash: NetworkHash, localKey: Secret) -> StoredNetwork? {
        namedNetworks.first { $0.hash(localKey: localKey) == hash }
    }

    /// Replaces the list of backups as a whole, or throws and leaves it as it is.
    mutating func apply(_ update: PreparedUpdate, localKey: Secret) throws(ProtocolError) {
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
        guard networks != backups else { return }
        for case .new(let network) in update.entries { takeWord(for: network) }
        for network in networks where !holds(network) { forgetExperience(with: network.ssid) }
        if let former = chosen {
            if let listed = networks.first(where: { $0.ssid == former.ssid }) {
                chosen = listed
            } else if backups.contains(where: { $0.ssid == former.ssid }) {
                // Somebody has removed it.
                chosen = nil
            }
        }
        backups = networks
        backupsRevision &+= 1
    }

    private func resolve(
        _ entry: PreparedUpdate.Entry, localKey: Secret
    ) throws(ProtocolError) -> StoredNetwork {
        switch entry {
        case .new(let network):
            guard var known = namedNetworks.first(where: { $0.isSame(as: network) }) else { return network }
            known.takeWord(of: network)
            return known
        case .stored(let hash):
            guard let network = network(hash, localKey: localKey) else {
                throw ProtocolError(
                    .unknownNetwork, "no stored network has the hash \(hash), so its password is needed",
                    details: ["hash": .text(hash.base64)])
            }
            return network
        }
    }

    /// A network has another key from now on: what failed with the old one says nothing, nor which access points it opened.
    private mutating func forgetExperience(with ssid: SSID) {
        statistics[ssid]?.lastFailure = nil
        statistics[ssid]?.provenAccessPoints = []
    }

    /// Whether networks of this name are stored under several keys: what is known of access points may be about either.
    func hasTwoKeys(of ssid: SSID) -> Bool {
        let named = namedNetworks.filter { $0.ssid == ssid }
        return named.contains { network in named.contains { !$0.hasSameKey(as: network) } }
    }

    /// A commanded switch worked: the network is kept, and is the one that the device belongs in. Its password is proven, so
    /// it replaces whatever else is stored under its name; the first network that a device is ever sent to is its home.
    mutating func adopt(_ network: StoredNetwork) {
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
    }
}
