import AgentModel
import AppProtocol
import Failover
import KeyFile

struct Switches: Sendable {
    var ledger = SwitchLedger()
    /// Accepted and stored switch. The switch starts once the app has the answer.
    var accepted: AcceptedSwitch?
    /// Outcomes being written, by ledger number.
    var pendingOutcomes: [UInt64: PendingOutcome] = [:]
    /// Whether commands are executed. Before that, the core resumes an interrupted switch.
    var hasBegun = false
    /// Switch commands received before `hasBegun`.
    var early: [(RequestID, AgentRequest)] = []
}

/// Switch that waits until its answer has been sent, because it may drop the link immediately.
struct AcceptedSwitch: Sendable {
    let switchID: String
    let network: NetworkID
    let entry: SwitchLedger.Entry
}

/// Outcome that is published once stored, so that it survives a power cut. If the write fails, the published text says
/// so.
struct PendingOutcome: Sendable {
    var progress: SwitchProgress?
    /// Confirmations to answer after the outcome is stored.
    var confirmations: [RequestID] = []
}

extension AgentCore {
    mutating func perform(_ request: AgentRequest, _ id: RequestID) {
        do throws(ProtocolError) {
            switch request {
            case .switchNetwork(let target, let confirmWithin, let joinOnce, let besideUplink, let switchID):
                guard switches.hasBegun else { return switches.early.append((id, request)) }
                try switchNetwork(
                    to: target, id, confirmWithin: confirmWithin.map { .seconds($0) }, joinOnce: joinOnce,
                    besideUplink: besideUplink, switchID: switchID)
            case .confirmSwitch(let switchID): try confirmSwitch(switchID, id)
            case .updateBackups(let update):
                // An update may name the current network by hash even if it is not stored.
                let update = joined.map { update.naming($0, localKey: localKey, in: state) } ?? update
                commit(.backups(update, localKey: localKey), for: .backups(id))
            case .stagePassword(let password): commit(.staged(password), for: .staged(id))
            case .dropPassword(let changeID): try dropPassword(changeID, id)
            case .setName(let name): commit(.named(name), for: .name(id))
            case .startScan(let request): try startScan(request, id)
            case .openSetupAccessPoint(let reason): try openSetupAccessPoint(by: reason, id)
            case .closeSetupAccessPoint: try closeSetupAccessPoint(id)
            }
        } catch {
            emit(.answer(id, .failure(error)))
        }
    }

    package func switchStatus(_ switchID: String) throws(ProtocolError) -> SwitchStatus { try entry(switchID).status }

    private func entry(_ switchID: String) throws(ProtocolError) -> SwitchLedger.Entry {
        guard let entry = switches.ledger[switchID] else { throw .unknownSwitch }
        return entry
    }

    /// Networks that an app can name by hash, including the current one if it is not stored.
    private var namedNetworks: [StoredNetwork] { state.namedNetworks + [joined].compactMap(\.self) }

    package var networkHashes: [NetworkHash] { namedNetworks.map { $0.hash(localKey: localKey) } }

    private var joined: StoredNetwork? {
        guard case .online(let link) = policy.phase else { return nil }
        return registry[link.network]
    }

    private func known(_ hash: NetworkHash) throws(ProtocolError) -> StoredNetwork {
        guard let network = namedNetworks.first(where: { $0.hash(localKey: localKey) == hash }) else {
            throw ProtocolError(
                .unknownNetwork, "no stored network has the hash \(hash)", details: ["hash": .text(hash.base64)])
        }
        return network
    }

    /// Accepts a switch. Once stored, the switch ends with exactly one outcome, even after a power cut.
    private mutating func switchNetwork(
        to wanted: SwitchTarget, _ id: RequestID, confirmWithin: Duration?, joinOnce: Bool, besideUplink: Bool,
        switchID: String
    ) throws(ProtocolError) {
        let (network, isOwnersWord) =
            switch wanted {
            case .stored(let hash): (try known(hash), false)
            case .new(let network): (network, true)
            }
        // A new network with a known name and password is the stored one.
        var target = namedNetworks.first { $0.hasSameKey(as: network) } ?? network
        if isOwnersWord { target.applyUserSetting(of: network) }
        // A switch can make the current ephemeral network the preferred one.
        let isThere = joined?.isSame(as: target) == true && (joinOnce || !policy.isOnEphemeralNetwork)
        let conditions = SwitchConditions(
            running: switches.ledger.current, uplink: lastPublished.otherUplink, missingInterface: missingInterface,
            isAssociated: isThere, besideUplink: besideUplink)
        if let refusal = conditions.refusal(of: target.ssid) { throw refusal }
        let origin = policy.phase.network.flatMap { registry[$0] }
        let entry = switches.ledger.open(
            switchID, target: target, origin: origin, confirmWithin: confirmWithin, joinOnce: joinOnce,
            trafficOver: lastPublished.otherUplink)
        let pending = PendingSwitch(id: switchID, target: joinOnce ? nil : target, cameFrom: origin?.ssid)
        commit(
            .accepted(pending, target: target, joinOnce: joinOnce, isOwnersWord: isOwnersWord),
            for: .accepted(id, entry: entry.id))
    }

    /// Answers the app after the switch is stored. The switch starts once the answer has been sent.
    mutating func accepted(_ id: RequestID, _ entryID: UInt64) {
        guard let entry = switches.ledger[entryID] else { return }
        publishNetworks()
        if let network = entry.target.flatMap({ registry.id(of: $0) }) {
            switches.accepted = AcceptedSwitch(switchID: entry.status.switchId, network: network, entry: entry)
        }
        emit(.answer(id, .success(.switchStatus(entry.status))))
    }

    /// Starts the switch after its answer has been delivered or lost.
    mutating func answerSent(switchID: String) {
        guard let accepted = switches.accepted, accepted.switchID == switchID else { return }
        switches.accepted = nil
        let entry = accepted.entry
        sendToPolicy(
            .switchTo(
                accepted.network, id: entry.id, confirmWithin: entry.confirmWithin, joinOnce: entry.joinOnce))
    }

    /// Resumes a switch that a restart interrupted: the policy returns to the previous network.
    mutating func resume(_ pending: PendingSwitch) {
        let origin = pending.cameFrom?.description ?? "no network"
        let goal = pending.target?.ssid.description ?? "a one-time network"
        log(.warning, "a restart interrupted the switch from \(origin) to \(goal)")
        let entry = switches.ledger.open(
            pending.id, target: pending.target, isResumed: true, trafficOver: lastPublished.otherUplink)
        let target = pending.target.flatMap { registry.id(of: $0) }
        let cameFrom = pending.cameFrom.flatMap { registry.id(named: $0, lastUsed: state.current, except: target) }
        sendToPolicy(.interrupted(id: entry.id, target: target, cameFrom: cameFrom))
    }

    private mutating func confirmSwitch(_ switchID: String, _ id: RequestID) throws(ProtocolError) {
        let entry = try entry(switchID)
        if entry.status.phase == .committed { return emit(.answer(id, .success(.switchStatus(entry.status)))) }
        guard entry.status.phase == .waitingForConfirmation else {
            throw .notWaiting(entry.status, "the switch is not waiting for a confirmation: \(switchID)")
        }
        sendToPolicy(.confirmed(id: entry.id))
        if switches.pendingOutcomes[entry.id] != nil {
            switches.pendingOutcomes[entry.id]?.confirmations.append(id)
        } else {
            answerConfirmation(id, of: entry.id)
        }
    }

    private mutating func answerConfirmation(_ id: RequestID, of entryID: UInt64) {
        do throws(ProtocolError) {
            guard let status = switches.ledger[entryID]?.status else { throw .unknownSwitch }
            emit(.answer(id, .success(.switchStatus(try status.afterConfirmation()))))
        } catch {
            emit(.answer(id, .failure(error)))
        }
    }

    // MARK: Outcomes

    mutating func switchProgressed(_ id: UInt64, _ progress: SwitchProgress) {
        if progress.isFinal, switches.pendingOutcomes[id] != nil {
            switches.pendingOutcomes[id]?.progress = progress
        } else {
            publish(progress, of: id)
        }
    }

    private mutating func publish(_ progress: SwitchProgress, of id: UInt64) {
        let isStored = !progress.isFinal || state.pendingSwitch?.id != switches.ledger[id]?.status.switchId
        let entry = switches.ledger.update(id, progress, isStored: isStored, trafficOver: lastPublished.otherUplink)
        guard let status = entry?.status else { return }
        if progress == .committed { setupAccessPoint.wish?.arrived() }
        if progress.isFinal { log(.notice, "switch \(status.switchId): \(status.text ?? status.phase.rawValue)") }
        emit(.publish(.switchProgress(status)))
        updateStatus()
    }

    mutating func switchEnded(_ id: UInt64, isCommitted: Bool) {
        guard let entry = switches.ledger[id] else { return }
        learned.pendingStatistics.ended(
            SwitchOutcome(switchID: entry.status.switchId, isCommitted: isCommitted, isResumed: entry.isResumed))
        // `pendingStatistics` contains the outcome. This commit only triggers the write.
        commit(.outcome, for: .outcome(entry: id))
        switches.pendingOutcomes[id] = PendingOutcome()
        // Publish before the write, so that the policy does not rejoin a network that will not be kept.
        publishNetworks()
    }

    mutating func outcomeStored(_ id: UInt64) {
        guard let settlement = switches.pendingOutcomes.removeValue(forKey: id) else { return }
        if let progress = settlement.progress { publish(progress, of: id) }
        for confirmation in settlement.confirmations { answerConfirmation(confirmation, of: id) }
        reviewConfigurator()
    }
}

extension ProtocolError {
    /// Error that omits the client's ID, which may have any length.
    fileprivate static var unknownSwitch: ProtocolError {
        ProtocolError(.unknownSwitch, "no switch since the agent's start has this ID")
    }
}
