import AgentModel
import AppProtocol

// Commanded switches. A beat of the model is a second.
extension ModelDevice {
    func begin(_ request: SwitchRequest) throws(ProtocolError) -> SwitchStatus {
        let (target, status) = try state.withLock { (state) throws(ProtocolError) -> (Stored, SwitchStatus) in
            let target: Stored
            switch request.target {
            case .stored(let hash): target = try stored(hash, state)
            case .new(let new): target = try plain(new, at: "body", &state)
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
        tell(SwitchStatus(switchId: id, phase: .joining))
        await beat(3)
        if has(.outcomeTwice) { tell(SwitchStatus(switchId: id, phase: .waitingForAddress)) }
        if let failure = failure(to: target) { return await rollBack(id, to: origin, failure, target) }
        enter(target, .waitingForAddress)
        tell(SwitchStatus(switchId: id, phase: .waitingForAddress))
        await beat(1)
        enter(target, .online)
        decide(from: origin, to: target)
        if let confirmWithin = request.confirmWithin {
            tell(SwitchStatus(switchId: id, phase: .waitingForConfirmation))
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
        tell(SwitchStatus(switchId: id, phase: .committed, text: "the device is on \(target.ssid)"))
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
        tell(status)
        if has(.outcomeTwice) { tell(status) }
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

    private func tell(_ status: SwitchStatus) {
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
