import AgentModel
import AppProtocol
import AppServer
import FailoverPolicy
import KeyFile

// Commanded switches, from the app's command to the outcome that is told.
extension DeviceAgent {
    func switchStatus(_ switchID: String) throws(ProtocolError) -> SwitchStatus { try entry(switchID).status }

    private func entry(_ switchID: String) throws(ProtocolError) -> SwitchLedger.Entry {
        guard let entry = ledger[switchID] else {
            throw ProtocolError(.unknownSwitch, "there was no switch \(switchID) since the agent started")
        }
        return entry
    }

    nonisolated func switchNetwork(_ request: SwitchRequest) async throws(ProtocolError) -> SwitchStatus {
        let confirmWithin = request.confirmWithin.map { Duration.seconds($0) }
        switch request.target {
        case .stored(let hash): return try await switchNetwork(to: stored(hash), confirmWithin: confirmWithin)
        // Its key is derived here, off the loop.
        case .new(let network):
            return try await switchNetwork(to: StoredNetwork(network), confirmWithin: confirmWithin)
        }
    }

    private func stored(_ hash: NetworkHash) throws(ProtocolError) -> StoredNetwork {
        guard let network = state.network(hash, localKey: identity.localKey) else {
            throw ProtocolError(
                .unknownNetwork, "no stored network has the hash \(hash)", details: ["hash": .text(hash.base64)])
        }
        return network
    }

    /// Takes a switch on: from here it ends in exactly one outcome, also if the power goes.
    private func switchNetwork(
        to network: StoredNetwork, confirmWithin: Duration?
    ) async throws(ProtocolError) -> SwitchStatus {
        // The same network under the same password is the stored one, whichever way it is named.
        let target =
            state.namedNetworks.first { $0.ssid == network.ssid && $0.credential == network.credential } ?? network
        let flags = currentStatus.flags
        guard radio.interfaceIndex != nil else { throw .interfaceMissing(settings.interface) }
        if let current = ledger.current {
            throw ProtocolError(
                .switchInProgress, "a switch to \(current.target.ssid) is under way",
                details: ["switchId": .text(current.status.switchId)])
        }
        guard flags.contains(.canSwitch) else {
            throw ProtocolError(.cannotSwitch, "the uplink is not Wi-Fi, so there is nothing to switch")
        }
        if case .online(let link) = policy.phase, book[link.network]?.isSame(as: target) == true {
            throw ProtocolError(.alreadyAssociated, "the device is on \(target.ssid) already")
        }
        let entry = ledger.open(SwitchIdentifier.random(), target: target, confirmWithin: confirmWithin)
        let pending = PendingSwitch(
            id: entry.status.switchId, target: target, cameFrom: policy.phase.network.flatMap { book[$0] }?.ssid)
        do {
            try await commit { state in state.pendingSwitch = pending }
        } catch {
            ledger.remove(entry.id)
            throw error
        }
        publishNetworks()
        begin(entry)
        return entry.status
    }

    private func begin(_ entry: SwitchLedger.Entry) {
        guard let id = book.id(of: entry.target) else { return }
        // After the answer is on its way, for the link may drop at once.
        Task { handle(.switchTo(id, id: entry.id, confirmWithin: entry.confirmWithin)) }
    }

    /// Goes on with a switch that a restart cut short: the policy takes the device back where it came from.
    func resume(_ pending: PendingSwitch) {
        let origin = pending.cameFrom?.description ?? "nothing"
        log.warning("a switch from \(origin) to \(pending.target.ssid) was cut short by a restart")
        let entry = ledger.open(pending.id, target: pending.target, isResumed: true)
        guard let target = book.id(of: pending.target) else { return }
        let cameFrom = pending.cameFrom.flatMap(book.id(named:)).flatMap { $0 == target ? nil : $0 }
        handle(.interrupted(id: entry.id, target: target, cameFrom: cameFrom))
    }

    /// The app reaches the device over the new network.
    func confirmSwitch(_ switchID: String) async throws(ProtocolError) -> SwitchStatus {
        let entry = try entry(switchID)
        if entry.status.phase == .committed { return entry.status }
        guard entry.status.phase == .waitingForConfirmation else {
            throw .notWaiting(entry.status, "the switch \(switchID) does not wait to be confirmed")
        }
        handle(.confirmed(id: entry.id))
        await settlements[entry.id]?.value
        return try switchStatus(switchID).afterConfirmation()
    }

    // MARK: Outcomes

    func switchProgressed(_ id: UInt64, _ progress: SwitchProgress) {
        guard let settlement = settlements[id], progress.isFinal else { return tell(id, progress) }
        // An outcome is told when it is stored: what was told must survive a power cut. Where it cannot be stored, it is
        // told with just that.
        settlements[id] = Task {
            await settlement.value
            tell(id, progress)
            settlements[id] = nil
        }
    }

    private func tell(_ id: UInt64, _ progress: SwitchProgress) {
        let isStored = !progress.isFinal || state.pendingSwitch?.id != ledger[id]?.status.switchId
        guard let status = ledger.update(id, progress, isStored: isStored)?.status else { return }
        if progress.isFinal { log.notice("switch \(status.switchId): \(status.text ?? status.phase.rawValue)") }
        hub.publish(.switchProgress(status))
        updateStatus()
    }

    /// The switch is over: stores what became of it.
    func switchEnded(_ id: UInt64, isCommitted: Bool) {
        guard let entry = ledger[id] else { return }
        journal.ended(
            SwitchOutcome(switchID: entry.status.switchId, isCommitted: isCommitted, isResumed: entry.isResumed))
        settlements[id] = Task { await settle() }
    }

    private func settle() async {
        // The journal has the outcome: every write stores it, and this one is for nothing else.
        do { try await commit { _ in } } catch {
            log.error("the outcome of a switch could not be stored, which is tried again: \(error)")
        }
        // The journal sees to it that it is tried again.
        publishNetworks()
    }
}

private enum SwitchIdentifier {
    /// Hard to guess and short enough to type.
    static func random() -> String { Hex.string((0..<6).map { _ in UInt8.random(in: 0...255) }) }
}
