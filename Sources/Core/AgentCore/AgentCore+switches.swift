import AgentModel
import AppProtocol
import Failover
import KeyFile

/// The commanded switches, and what waits for their steps.
struct Switches: Sendable {
    var ledger = SwitchLedger()
    /// The switch that was accepted and stored, and begins when the app has the answer.
    var accepted: AcceptedSwitch?
    /// Outcomes on their way to the disk, by the ledger's number.
    var settlements: [UInt64: Settlement] = [:]
    /// Before that, a switch that a restart cut short has the word.
    var hasBegun = false
    /// Commands that came earlier.
    var early: [(RequestID, AgentRequest)] = []
}

/// A switch that waits until its answer has been sent: the link may drop at once.
struct AcceptedSwitch: Sendable {
    let switchID: String
    let network: NetworkID
    let entry: SwitchLedger.Entry
}

/// An outcome is told when it is stored: what was told must survive a power cut. Where it cannot be stored, it is told
/// with just that.
struct Settlement: Sendable {
    let commit: CommitID
    var progress: SwitchProgress?
    /// Requests that have confirmed the switch, and are answered then.
    var confirmations: [RequestID] = []
}

extension AgentCore {
    mutating func take(_ request: AgentRequest, _ id: RequestID) {
        do throws(ProtocolError) {
            switch request {
            case .switchNetwork(let target, let confirmWithin, let joinOnce, let besideUplink, let switchID):
                guard switches.hasBegun else { return switches.early.append((id, request)) }
                try switchNetwork(
                    to: target, id, confirmWithin: confirmWithin.map { .seconds($0) }, joinOnce: joinOnce,
                    besideUplink: besideUplink, switchID: switchID)
            case .confirmSwitch(let switchID): try confirmSwitch(switchID, id)
            case .updateBackups(let update):
                // The device may be in a network that it does not keep: its hash names it as well.
                let update = joined.map { update.naming($0, localKey: localKey, in: state) } ?? update
                commit(.backups(update, localKey: localKey), for: .backups(id))
            case .stagePassword(let password): commit(.staged(password), for: .staged(id))
            case .dropPassword(let changeID): try dropPassword(changeID, id)
            case .startScan(let request): try startScan(request, id)
            case .openRescue(let reason): try openRescue(by: reason, id)
            case .closeRescue: try closeRescue(id)
            }
        } catch {
            order(.answer(id, .failure(error)))
        }
    }

    package func switchStatus(_ switchID: String) throws(ProtocolError) -> SwitchStatus { try entry(switchID).status }

    private func entry(_ switchID: String) throws(ProtocolError) -> SwitchLedger.Entry {
        guard let entry = switches.ledger[switchID] else { throw .unknownSwitch }
        return entry
    }

    /// Every network that an app can name by its hash: also one that the device is in and does not keep.
    private var namedNetworks: [StoredNetwork] { state.namedNetworks + [joined].compactMap(\.self) }

    /// The hashes of all of them.
    package var networkHashes: [NetworkHash] { namedNetworks.map { $0.hash(localKey: localKey) } }

    /// The network that the device is in.
    private var joined: StoredNetwork? {
        guard case .online(let link) = policy.phase else { return nil }
        return book[link.network]
    }

    private func known(_ hash: NetworkHash) throws(ProtocolError) -> StoredNetwork {
        guard let network = namedNetworks.first(where: { $0.hash(localKey: localKey) == hash }) else {
            throw ProtocolError(
                .unknownNetwork, "no stored network has the hash \(hash)", details: ["hash": .text(hash.base64)])
        }
        return network
    }

    /// Takes a switch on: from the moment that it is stored it ends in exactly one outcome, also if the power goes.
    private mutating func switchNetwork(
        to wanted: SwitchTarget, _ id: RequestID, confirmWithin: Duration?, joinOnce: Bool, besideUplink: Bool,
        switchID: String
    ) throws(ProtocolError) {
        let (network, isOwnersWord) =
            switch wanted {
            case .stored(let hash): (try known(hash), false)
            case .new(let network): (network, true)
            }
        // The same network under the same password is the stored one, whichever way it is named.
        var target = namedNetworks.first { $0.hasSameKey(as: network) } ?? network
        if isOwnersWord { target.takeWord(of: network) }
        // One that the device only visits may become the one that it belongs in.
        let isThere = joined?.isSame(as: target) == true && (joinOnce || !policy.isVisiting)
        let conditions = SwitchConditions(
            running: switches.ledger.current, uplink: notes.otherUplink, missingInterface: missingInterface,
            isAssociated: isThere, besideUplink: besideUplink)
        if let refusal = conditions.refusal(of: target.ssid) { throw refusal }
        let origin = policy.phase.network.flatMap { book[$0] }
        let entry = switches.ledger.open(
            switchID, target: target, origin: origin, confirmWithin: confirmWithin, joinOnce: joinOnce,
            trafficOver: notes.otherUplink)
        let pending = PendingSwitch(id: switchID, target: joinOnce ? nil : target, cameFrom: origin?.ssid)
        commit(
            .accepted(pending, target: target, joinOnce: joinOnce, isOwnersWord: isOwnersWord),
            for: .accepted(id, entry: entry.id))
    }

    /// The switch is stored: the app is told, and it begins when the answer has been sent.
    mutating func accepted(_ id: RequestID, _ entryID: UInt64) {
        guard let entry = switches.ledger[entryID] else { return }
        publishNetworks()
        if let network = entry.target.flatMap({ book.id(of: $0) }) {
            switches.accepted = AcceptedSwitch(switchID: entry.status.switchId, network: network, entry: entry)
        }
        order(.answer(id, .success(.switchStatus(entry.status))))
    }

    /// The app has the answer, or will not get it any more.
    mutating func answered(_ switchID: String) {
        guard let accepted = switches.accepted, accepted.switchID == switchID else { return }
        switches.accepted = nil
        let entry = accepted.entry
        tell(
            .switchTo(
                accepted.network, id: entry.id, confirmWithin: entry.confirmWithin, joinOnce: entry.joinOnce))
    }

    /// Goes on with a switch that a restart cut short: the policy takes the device back where it came from.
    mutating func resume(_ pending: PendingSwitch) {
        let origin = pending.cameFrom?.description ?? "nothing"
        let goal = pending.target?.ssid.description ?? "a network for this once"
        say(.warning, "a switch from \(origin) to \(goal) was cut short by a restart")
        let entry = switches.ledger.open(
            pending.id, target: pending.target, isResumed: true, trafficOver: notes.otherUplink)
        let target = pending.target.flatMap { book.id(of: $0) }
        let cameFrom = pending.cameFrom.flatMap { book.id(named: $0) }.flatMap { $0 == target ? nil : $0 }
        tell(.interrupted(id: entry.id, target: target, cameFrom: cameFrom))
    }

    /// The app reaches the device over the new network.
    private mutating func confirmSwitch(_ switchID: String, _ id: RequestID) throws(ProtocolError) {
        let entry = try entry(switchID)
        if entry.status.phase == .committed { return order(.answer(id, .success(.switchStatus(entry.status)))) }
        guard entry.status.phase == .waitingForConfirmation else {
            throw .notWaiting(entry.status, "the switch \(switchID) does not wait to be confirmed")
        }
        tell(.confirmed(id: entry.id))
        if switches.settlements[entry.id] != nil {
            switches.settlements[entry.id]?.confirmations.append(id)
        } else {
            answerConfirmation(id, of: entry.id)
        }
    }

    private mutating func answerConfirmation(_ id: RequestID, of entryID: UInt64) {
        do throws(ProtocolError) {
            guard let status = switches.ledger[entryID]?.status else { throw .unknownSwitch }
            order(.answer(id, .success(.switchStatus(try status.afterConfirmation()))))
        } catch {
            order(.answer(id, .failure(error)))
        }
    }

    // MARK: Outcomes

    mutating func switchProgressed(_ id: UInt64, _ progress: SwitchProgress) {
        if progress.isFinal, switches.settlements[id] != nil {
            switches.settlements[id]?.progress = progress
        } else {
            publish(progress, of: id)
        }
    }

    private mutating func publish(_ progress: SwitchProgress, of id: UInt64) {
        let isStored = !progress.isFinal || state.pendingSwitch?.id != switches.ledger[id]?.status.switchId
        let entry = switches.ledger.update(id, progress, isStored: isStored, trafficOver: notes.otherUplink)
        guard let status = entry?.status else { return }
        if progress == .committed { rescue.wish?.arrived() }
        if progress.isFinal { say(.notice, "switch \(status.switchId): \(status.text ?? status.phase.rawValue)") }
        order(.publish(.switchProgress(status)))
        updateStatus()
    }

    /// The switch is over: stores what became of it.
    mutating func switchEnded(_ id: UInt64, isCommitted: Bool) {
        guard let entry = switches.ledger[id] else { return }
        memory.journal.ended(
            SwitchOutcome(switchID: entry.status.switchId, isCommitted: isCommitted, isResumed: entry.isResumed))
        // The journal has the outcome: every write stores it, and this one is for nothing else.
        switches.settlements[id] = Settlement(commit: commit(.outcome, for: .outcome(entry: id)))
        // At once: a network that is not to be kept must not be joined again while the outcome is on its way to the
        // disk.
        publishNetworks()
    }

    /// The outcome is stored, or could not be.
    mutating func settled(_ id: UInt64) {
        guard let settlement = switches.settlements.removeValue(forKey: id) else { return }
        if let progress = settlement.progress { publish(progress, of: id) }
        for confirmation in settlement.confirmations { answerConfirmation(confirmation, of: id) }
        reviewConfigurator()
    }
}

extension ProtocolError {
    /// The id is the client's, and may be of any length.
    fileprivate static var unknownSwitch: ProtocolError {
        ProtocolError(.unknownSwitch, "there was no switch of this id since the agent started")
    }
}
