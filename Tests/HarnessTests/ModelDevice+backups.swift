import AgentModel
import AppProtocol

// The list, and the hashes that name its entries.
extension ModelDevice {
    func list(_ state: State) -> BackupList {
        BackupList(
            max: state.maximum, revision: state.revision,
            networks: state.backups.map { network in
                BackupNetwork(
                    ssid: network.ssid, hash: hash(of: network), security: network.password == nil ? .open : .wpa2wpa3,
                    isHidden: network.isHidden && !has(.hiddenLost))
            })
    }

    func hash(of network: Stored) -> NetworkHash {
        let localKey = has(.hashWithoutKey) ? Secret([]) : Self.key.localKey
        var ssid = network.ssid
        if has(.hashOfText), let text = try? SSID(String(decoding: ssid.bytes, as: UTF8.self)) { ssid = text }
        return NetworkHash(localKey: localKey, ssid: ssid, password: network.password)
    }

    /// Every network that a hash can name.
    private func named(_ state: State) -> [Stored] {
        let remembered = has(.removedStillKnown) || has(.joinOnceKept) ? state.removed : []
        return state.backups + [state.home] + [state.chosen].compactMap(\.self) + remembered
    }

    func stored(_ hash: NetworkHash, _ state: State) throws(ProtocolError) -> Stored {
        guard let network = named(state).first(where: { self.hash(of: $0) == hash }) else {
            throw ProtocolError(
                .unknownNetwork, "no stored network has this hash",
                details: has(.hashUntold) ? [:] : ["hash": .text(hash.base64)])
        }
        return network
    }

    /// - Parameter field: where in the request it stands.
    func plain(_ network: NewNetwork, at field: String, _ state: inout State) throws(ProtocolError) -> Stored {
        switch network.credential {
        case .none: return Stored(ssid: network.ssid, password: nil, isHidden: network.isHidden)
        case .password(let password):
            return Stored(ssid: network.ssid, password: password, isHidden: network.isHidden)
        case .sealed(let sealed):
            if has(.replayAccepted), let password = state.opened[sealed.box] {
                return Stored(ssid: network.ssid, password: password, isHidden: network.isHidden)
            }
            let password: Secret
            do throws(ProtocolError) {
                password = try seals.open(sealed, ssid: network.ssid)
            } catch {
                throw has(.sealedFieldUntold) ? error : error.about(field + ".sealed")
            }
            state.opened[sealed.box] = password
            return Stored(ssid: network.ssid, password: password, isHidden: network.isHidden)
        }
    }

    func update(_ update: BackupsUpdate) throws(ProtocolError) -> BackupList {
        let list = try state.withLock { (state) throws(ProtocolError) -> BackupList in
            let before = state
            do throws(ProtocolError) {
                try apply(update, &state)
            } catch {
                if !has(.updateNotAtomic) { state.backups = before.backups }
                if has(.refusalCounts) { state.revision += 1 }
                if has(.refusalTold) { hub.publish(.backupsChanged(self.list(state))) }
                throw error
            }
            state.removed += before.backups
            if !has(.revisionStands) { state.revision += 1 }
            return self.list(state)
        }
        if !has(.changeUntold) { hub.publish(.backupsChanged(list)) }
        return list
    }

    /// Leaves the list half done where it fails.
    private func apply(_ update: BackupsUpdate, _ state: inout State) throws(ProtocolError) {
        let maximum = state.maximum + (has(.oneTooMany) ? 1 : has(.oneTooFew) ? -1 : 0)
        guard update.networks.count <= maximum else {
            var details: [String: ProtocolError.Detail] = ["max": .number(state.maximum)]
            if !has(.countUntold) { details["count"] = .number(update.networks.count) }
            throw ProtocolError(.tooManyNetworks, "too many", details: details)
        }
        if let expected = update.ifRevision, expected != state.revision, !has(.ifRevisionIgnored) {
            throw ProtocolError(.revisionConflict, "changed", details: ["revision": .number(state.revision)])
        }
        let before = state
        state.backups = []
        for (index, reference) in update.networks.enumerated() {
            let network: Stored
            switch reference {
            case .stored(let hash):
                var known = try stored(hash, before)
                if has(.passwordForgotten) { known.password = Secret(text: "another password") }
                network = known
            case .new(let new):
                if has(.oldPasswordStays), let old = before.backups.first(where: { $0.ssid == new.ssid }) {
                    network = old
                } else {
                    network = try plain(new, at: "body.networks[\(index)]", &state)
                }
            }
            guard !state.backups.contains(where: { $0.ssid == network.ssid }) || has(.duplicatesKept) else {
                throw ProtocolError(.duplicateNetwork, "twice")
            }
            state.backups.append(network)
        }
        if has(.orderLost) { state.backups.sort { "\($0.ssid)" < "\($1.ssid)" } }
        if has(.listGrows) {
            for network in before.backups where !state.backups.contains(where: { $0.ssid == network.ssid }) {
                if state.backups.count < state.maximum { state.backups.append(network) }
            }
        }
    }
}
