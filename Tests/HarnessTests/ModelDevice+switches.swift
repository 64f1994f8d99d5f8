import AgentModel
import AppProtocol

// Commanded switches. A beat of the model is a second.
extension ModelDevice {
    func begin(_ request: SwitchRequest) throws(ProtocolError) -> SwitchStatus {
        let (target, status) = try state.withLock { (state) throws(ProtocolError) -> (Stored, SwitchStatus) in
            let target: Stored
            switch request.target {
            case .stored(let hash): target = try stored(hash, state)
            case .new(let new): target = try plain(new, at: "body", in: SealContext(of: new, in: request), &state)
            }
            guard state.uplink == .wifi else {
                throw ProtocolError(has(.interfaceBeforeUplink) ? .interfaceMissing : .cannotSwitch, "not now")
            }
            if target == state.current, !has(.alreadyThereIgnored) {
                throw ProtocolError(.alreadyAssociated, "the device is there")
            }
            if let running = state.running, !has(.switchesAtOnce) {
                throw ProtocolError(.switchInProgress, "one is running", details: ["switchId": .text(running)])
            }
            let status = SwitchStatus(switchId: "s-\(state.switches.count + 1)", phase: .accepted)
            state.switches[status.switchId] = status
            state.running = status.switchId
            return (target, status)
        }
        Task { await run(status.switchId, to: target, request) }
        return status
    }

    func switchStatus(_ query: SwitchQuery) throws(ProtocolError) -> SwitchStatus {
        guard let status = state.withLock({ $0.switches[query.switchId] }) else {
            throw ProtocolError(.unknownSwitch, "there was none")
        }
        if has(.outcomeForgotten), status.phase.isOutcome {
            return SwitchStatus(switchId: status.switchId, phase: .accepted)
        }
        return status
    }

    func confirm(_ query: SwitchQuery) throws(ProtocolError) -> SwitchStatus {
        let status = try switchStatus(query)
        if status.phase == .committed { return status }
        guard status.phase == .waitingForConfirmation || has(.confirmsAnything) else {
            throw ProtocolError(.notWaiting, "it does not wait", details: ["phase": .text(status.phase.rawValue)])
        }
        state.withLock { _ = $0.confirmed.insert(query.switchId) }
        return SwitchStatus(switchId: query.switchId, phase: .validating)
    }

    private func run(_ id: String, to target: Stored, _ request: SwitchRequest) async {
        let origin = state.withLock { $0.current }
        publish(SwitchStatus(switchId: id, phase: .joining))
        await beat(3)
        if has(.outcomeTwice) { publish(SwitchStatus(switchId: id, phase: .waitingForAddress)) }
        if let failure = failure(to: target) { return await rollBack(id, to: origin, failure, target) }
        enter(target, .waitingForAddress)
        publish(SwitchStatus(switchId: id, phase: .waitingForAddress))
        await beat(1)
        enter(target, .online)
        decide(from: origin, to: target)
        if let confirmWithin = request.confirmWithin {
            publish(SwitchStatus(switchId: id, phase: .waitingForConfirmation))
            for _ in 0..<confirmWithin where !state.withLock({ $0.confirmed.contains(id) }) { await beat(1) }
            guard state.withLock({ $0.confirmed.contains(id) }) || has(.silenceConfirms) else {
                return await rollBack(id, to: origin, .unconfirmed, target)
            }
        }
        state.withLock { state in
            if !request.joinOnce || has(.joinOnceKept) { state.chosen = target == state.home ? nil : target }
            if has(.joinOnceKept) { state.removed.append(target) }
            state.running = nil
        }
        publish(SwitchStatus(switchId: id, phase: .committed, text: "the device is on \(target.ssid)"))
    }

    private func failure(to target: Stored) -> JoinFailure? {
        state.withLock { state in
            guard let password = state.air[target.ssid] else { return has(.wrongReason) ? .timeout : .notFound }
            return password == target.password || has(.anyPasswordJoins) ? nil : .wrongKey
        }
    }

    private func rollBack(_ id: String, to origin: Stored, _ failure: JoinFailure, _ target: Stored) async {
        if has(.staysAway) { enter(target, .online) } else { enter(origin, .online) }
        state.withLock { state in
            state.running = nil
            if has(.triedIsStored) {
                state.backups.append(target)
                state.revision += 1
            }
        }
        let password = target.password.map { $0.withBytes { String(decoding: $0, as: UTF8.self) } } ?? ""
        let status = SwitchStatus(
            switchId: id, phase: .rolledBack, reason: ReasonCode(failure),
            text: has(.passwordTold) ? "\(password) was of no use" : "the device is where it was")
        publish(status)
        if has(.outcomeTwice) { publish(status) }
    }

    func enter(_ network: Stored, _ linkState: LinkState) {
        let status = state.withLock { state in
            state.current = network
            state.linkState = linkState
            state.since = .now
            return self.status(state)
        }
        hub.publish(.networkChanged(status))
    }

    private func publish(_ status: SwitchStatus) {
        state.withLock { $0.switches[status.switchId] = status }
        if !has(.progressUntold) || status.phase.isOutcome { hub.publish(.switchProgress(status)) }
    }

    func decide(from origin: Stored, to target: Stored) {
        let decision = state.withLock { state in
            let decision = Self.decision(state.decisions.count + 1, from: origin.ssid, to: target.ssid)
            state.decisions.append(decision)
            return decision
        }
        if !has(.decisionUntold) { hub.publish(.decision(decision)) }
    }

    private func beat(_ count: Int) async { try? await Task.sleep(for: Self.beat * count) }
}

// The list, and the hashes that name its entries.
extension ModelDevice {
    func list(_ state: State) -> BackupList {
        BackupList(
            max: state.maximum, revision: state.revision,
            networks: state.backups.map { network in
                BackupNetwork(
                    ssid: network.ssid, hash: hash(of: network), security: network.password == nil ? .open : .wpa2wpa3,
                    isHidden: network.isHidden && !has(.hiddenLost), address: network.address,
                    options: network.options)
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
    func plain(
        _ network: NewNetwork, at field: String, in context: SealContext, _ state: inout State
    ) throws(ProtocolError) -> Stored {
        func stored(_ password: Secret?) -> Stored {
            Stored(
                ssid: network.ssid, password: password, isHidden: network.isHidden, address: network.address,
                options: network.options)
        }
        switch network.credential {
        case .none: return stored(nil)
        case .password(let password): return stored(password)
        case .enterprise, .sealedEnterprise:
            throw ProtocolError(.unsupported, "enterprise networks are not joined", details: ["field": .text(field)])
        case .sealed(let sealed):
            if has(.replayAccepted), let password = state.opened[sealed.sealed.bytes] {
                return stored(password)
            }
            let password: Secret
            do throws(ProtocolError) {
                password = try seals.open(sealed, in: context)
            } catch {
                throw has(.sealedFieldUntold) ? error : error.about(field + ".sealed")
            }
            state.opened[sealed.sealed.bytes] = password
            return stored(password)
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
                if let said = update.addressing[hash] { known.address = said.address }
                if has(.addressForgotten) { known.address = nil }
                known.options = known.options.changed(by: update.options[hash] ?? .init())
                if has(.optionsForgotten) { known.options = .init() }
                if has(.passwordForgotten) { known.password = Secret(text: "another password") }
                network = known
            case .new(let new):
                if has(.oldPasswordStays), let old = before.backups.first(where: { $0.ssid == new.ssid }) {
                    network = old
                } else {
                    network = try plain(
                        new, at: "body.networks[\(index)]", in: SealContext(of: new, in: update), &state)
                }
            }
            let isTwice = state.backups.contains {
                $0.ssid == network.ssid && ($0.password == network.password || has(.oneOfEachName))
            }
            guard !isTwice || has(.duplicatesKept) else {
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
