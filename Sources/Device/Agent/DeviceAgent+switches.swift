import AgentModel
import AppProtocol
import AppServer
import Failover
import KeyFile
import Linux

// Commanded switches, from the app's command to the outcome that is told.
extension DeviceAgent {
    func switchStatus(_ switchID: String) throws(ProtocolError) -> SwitchStatus { try entry(switchID).status }

    private func entry(_ switchID: String) throws(ProtocolError) -> SwitchLedger.Entry {
        guard let entry = ledger[switchID] else {
            // The id is the client's, and may be of any length.
            throw ProtocolError(.unknownSwitch, "there was no switch of this id since the agent started")
        }
        return entry
    }

    nonisolated func switchNetwork(_ request: SwitchRequest) async throws(ProtocolError) -> SwitchStatus {
        switch request.target {
        case .stored(let hash): return try await switchNetwork(to: known(hash), request)
        // Its password is opened and its key derived here, off the loop.
        case .new(let network):
            let network = try StoredNetwork(network, at: "body", openedWith: seals)
            return try await switchNetwork(to: network, request, isOwnersWord: true)
        }
    }

    /// Every network that an app can name by its hash: also one that the device is in and does not keep.
    private var namedNetworks: [StoredNetwork] { state.namedNetworks + [joined].compactMap(\.self) }

    /// The network that the device is in.
    private var joined: StoredNetwork? {
        guard case .online(let link) = policy.phase else { return nil }
        return book[link.network]
    }

    private func known(_ hash: NetworkHash) throws(ProtocolError) -> StoredNetwork {
        guard let network = namedNetworks.first(where: { $0.hash(localKey: identity.localKey) == hash }) else {
            throw ProtocolError(
                .unknownNetwork, "no stored network has the hash \(hash)", details: ["hash": .text(hash.base64)])
        }
        return network
    }

    /// Takes a switch on: from here it ends in exactly one outcome, also if the power goes.
    /// - Parameter isOwnersWord: the owner has sent the password, or said that there is none.
    private func switchNetwork(
        to network: StoredNetwork, _ request: SwitchRequest, isOwnersWord: Bool = false
    ) async throws(ProtocolError) -> SwitchStatus {
        await isAtWork()
        // The same network under the same password is the stored one, whichever way it is named.
        var target = namedNetworks.first { $0.hasSameKey(as: network) } ?? network
        if isOwnersWord { target.takeWord(of: network) }
        // One that the device only visits may become the one that it belongs in.
        let isThere = joined?.isSame(as: target) == true && (request.joinOnce || !policy.isVisiting)
        let conditions = SwitchConditions(
            running: ledger.current, uplink: otherUplink, missingInterface: missingInterface,
            isAssociated: isThere)
        if let refusal = conditions.refusal(of: target.ssid) { throw refusal }
        let origin = policy.phase.network.flatMap { book[$0] }
        let entry = ledger.open(
            SwitchIdentifier.random(), target: target, origin: origin,
            confirmWithin: request.confirmWithin.map { .seconds($0) },
            joinOnce: request.joinOnce)
        let pending = PendingSwitch(
            id: entry.status.switchId, target: request.joinOnce ? nil : target,
            cameFrom: origin?.ssid)
        do {
            try await commit { [target] state in
                state.pendingSwitch = pending
                if isOwnersWord { state.takeWord(for: target) }
                // This copy has the floor of the stored one, which joins may have raised.
                if !request.joinOnce, let known = state.namedNetworks.first(where: { $0.isSame(as: target) }) {
                    state.pendingSwitch?.target = known
                }
            }
        } catch {
            ledger.remove(entry.id)
            throw error
        }
        publishNetworks()
        begin(entry)
        return entry.status
    }

    private func begin(_ entry: SwitchLedger.Entry) {
        guard let id = entry.target.flatMap(book.id(of:)) else { return }
        // The link may drop at once, and the app is to have the answer by then.
        departure = Departure(switchID: entry.status.switchId) { [weak self] in
            self?.handle(.switchTo(id, id: entry.id, confirmWithin: entry.confirmWithin, joinOnce: entry.joinOnce))
        }
    }

    public nonisolated func hasArrived(_ answer: SwitchStatus) async { await depart(answer.switchId) }

    private func depart(_ switchID: String) {
        guard let departure, departure.switchID == switchID else { return }
        self.departure = nil
        departure.begin()
    }

    /// Goes on with a switch that a restart cut short: the policy takes the device back where it came from.
    func resume(_ pending: PendingSwitch) {
        let origin = pending.cameFrom?.description ?? "nothing"
        let goal = pending.target?.ssid.description ?? "a network for this once"
        log.warning("a switch from \(origin) to \(goal) was cut short by a restart")
        let entry = ledger.open(pending.id, target: pending.target, isResumed: true)
        let target = pending.target.flatMap(book.id(of:))
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
        // At once: a network that is not to be kept must not be joined again while the outcome is on its way to the disk.
        publishNetworks()
    }

    private func settle() async {
        // The journal has the outcome: every write stores it, and this one is for nothing else. It tries again, too.
        do { try await commit { _ in } } catch {
            log.error("the outcome of a switch could not be stored, which is tried again: \(error)")
        }
    }
}

/// A switch that begins when the app has the answer to its command, and also where it never takes it.
@AgentLoop
final class Departure {
    let switchID: String
    private let onBegin: @AgentLoop @Sendable () -> Void
    private var timer: LoopTimer?

    /// Longer than the server waits for the answer to arrive.
    private static let patience = Duration.milliseconds(1500)

    init(switchID: String, onBegin: @escaping @AgentLoop @Sendable () -> Void) {
        self.switchID = switchID
        self.onBegin = onBegin
        timer = LoopTimer(after: Self.patience) { [weak self] in self?.begin() }
    }

    func begin() {
        guard timer != nil else { return }
        timer = nil
        onBegin()
    }
}

private enum SwitchIdentifier {
    /// Hard to guess and short enough to type.
    static func random() -> String { Hex.string((0..<6).map { _ in UInt8.random(in: 0...255) }) }
}
