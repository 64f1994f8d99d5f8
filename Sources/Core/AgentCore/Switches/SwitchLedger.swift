import AgentModel
import AppProtocol
import Failover
import KeyFile

/// Commanded switches of this run. An app can read an outcome here after it has reconnected.
struct SwitchLedger {
    struct Entry {
        let id: UInt64
        /// Target while the switch is in progress; nil if it was not stored before a restart.
        fileprivate(set) var target: StoredNetwork?
        /// Network to return to while the switch is in progress, stored or not.
        fileprivate(set) var origin: StoredNetwork?
        let name: SSID?
        /// Whether to forget the network on leaving it.
        let joinOnce: Bool
        /// Whether a restart interrupted the switch.
        let isResumed: Bool
        /// Time limit for the confirmation; nil if none is required.
        let confirmWithin: Duration?
        var status: SwitchStatus
    }

    private static let capacity = 16
    private var entries: [Entry] = []
    private var lastID: UInt64 = 0

    mutating func open(
        _ switchID: String, target: StoredNetwork?, origin: StoredNetwork? = nil, confirmWithin: Duration? = nil,
        joinOnce: Bool = false, isResumed: Bool = false, trafficOver: Uplink? = nil
    ) -> Entry {
        lastID += 1
        let entry = Entry(
            id: lastID, target: target, origin: origin, name: target?.ssid, joinOnce: joinOnce, isResumed: isResumed,
            confirmWithin: confirmWithin,
            status: SwitchStatus(switchId: switchID, phase: .accepted, trafficOver: trafficOver))
        entries = entries.suffix(Self.capacity - 1) + [entry]
        return entry
    }

    /// - Parameters:
    ///   - isStored: Whether an outcome is on disk. If not, the text of the outcome says so.
    ///   - trafficOver: Uplink of the traffic, if not Wi-Fi.
    /// - Returns: the updated entry; nil if it is unknown or the phase is not later than the current one.
    mutating func update(
        _ id: UInt64, _ progress: SwitchProgress, isStored: Bool = true, trafficOver: Uplink? = nil
    ) -> Entry? {
        guard let entry = self[id] else { return nil }
        let target = entry.name?.description ?? "the one-time network"
        var status = SwitchStatus(
            switchId: entry.status.switchId, progress, target: target, trafficOver: trafficOver)
        guard status.phase == .accepted || status.phase.comes(after: entry.status.phase) else { return nil }
        if !isStored, let text = status.text { status = status.replacingText(by: text + Self.notStored) }
        set(status, of: id)
        return self[id]
    }

    private static let notStored = "; this could not be stored yet, retrying"

    mutating func remove(_ id: UInt64) { entries.removeAll { $0.id == id } }

    private mutating func set(_ status: SwitchStatus, of id: UInt64) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        entries[index].status = status
        if status.phase.isOutcome {
            entries[index].target = nil
            entries[index].origin = nil
        }
    }

    subscript(id: UInt64) -> Entry? { entries.first { $0.id == id } }
    subscript(switchID: String) -> Entry? { entries.last { $0.status.switchId == switchID } }

    var current: Entry? { entries.last.flatMap { $0.status.phase.isOutcome ? nil : $0 } }
}

extension SwitchStatus {
    /// Returns the answer to a confirmation that the policy has handled.
    /// - Throws: `ProtocolError` if the confirmation was too late and the device is rolling back.
    func afterConfirmation() throws(ProtocolError) -> SwitchStatus {
        switch phase {
        // A confirmation before the end of validation counts once validation succeeds.
        case .committed, .validating, .waitingForAddress: return self
        case .accepted, .joining, .waitingForConfirmation, .rolledBack, .failed:
            throw .notWaiting(self, "too late to confirm the switch, the device is rolling back: \(switchId)")
        }
    }

    fileprivate func replacingText(by text: String) -> SwitchStatus {
        SwitchStatus(switchId: switchId, phase: phase, reason: reason, text: text, trafficOver: trafficOver)
    }

    fileprivate init(switchId: String, _ progress: SwitchProgress, target: String, trafficOver: Uplink?) {
        func status(_ phase: SwitchPhase, _ reason: ReasonCode? = nil, _ text: String? = nil) -> SwitchStatus {
            SwitchStatus(switchId: switchId, phase: phase, reason: reason, text: text, trafficOver: trafficOver)
        }
        let rest = trafficOver.map { "; its traffic stays on \($0.words)" } ?? ""
        self =
            switch progress {
            case .accepted: status(.accepted)
            case .joining: status(.joining)
            case .waitingForAddress: status(.waitingForAddress)
            case .validating: status(.validating)
            case .waitingForConfirmation: status(.waitingForConfirmation)
            case .committed: status(.committed, nil, "the device is on \(target)\(rest)")
            case .rolledBack(let failure):
                status(
                    .rolledBack, ReasonCode(failure),
                    "\(target): \(failure.sentence); the device is back on its previous network")
            case .failed(let failure):
                status(
                    .failed, ReasonCode(failure),
                    "\(target): \(failure.sentence); the device is searching for another network")
            }
    }
}

extension ProtocolError {
    static func notWaiting(_ status: SwitchStatus, _ message: String) -> ProtocolError {
        ProtocolError(.notWaiting, message, details: ["phase": .text(status.phase.rawValue)])
    }
}
