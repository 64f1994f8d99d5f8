import AgentModel
import AppProtocol
import Failover
import KeyFile

/// The commanded switches of this run, so that an app can read an outcome after it has reconnected.
struct SwitchLedger {
    struct Entry {
        let id: UInt64
        /// The network to go to, while the switch is under way; nil too where a restart has made the device forget it.
        fileprivate(set) var target: StoredNetwork?
        /// The network to come back to, while the switch is under way: it may be one that is not stored.
        fileprivate(set) var origin: StoredNetwork?
        /// The target's name, for the text of the outcome.
        let name: SSID?
        /// The device is to forget the network when it leaves it.
        let joinOnce: Bool
        /// The switch as a restart found it, if one cut it short.
        let isResumed: Bool
        /// How soon the app has to confirm it, if it has to.
        let confirmWithin: Duration?
        var status: SwitchStatus
    }

    private static let capacity = 16
    private var entries: [Entry] = []
    private var lastID: UInt64 = 0

    /// Opens an entry for a switch that is accepted.
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

    /// - Parameter isStored: whether an outcome is on the disk; where it is not, its text says so.
    /// - Parameter trafficOver: the uplink that carries the traffic now, where that is not Wi-Fi.
    /// - Returns: the entry with its new status, or nil if there is none with this number, or if that phase is no news:
    ///   a second attempt to join does not begin the switch again.
    mutating func update(
        _ id: UInt64, _ progress: SwitchProgress, isStored: Bool = true, trafficOver: Uplink? = nil
    ) -> Entry? {
        guard let entry = self[id] else { return nil }
        let target = entry.name?.description ?? "the network that was to be joined once"
        var status = SwitchStatus(
            switchId: entry.status.switchId, progress, target: target, trafficOver: trafficOver)
        guard status.phase == .accepted || status.phase.comes(after: entry.status.phase) else { return nil }
        if !isStored, let text = status.text { status = status.replacingText(by: text + Self.notStored) }
        set(status, of: id)
        return self[id]
    }

    private static let notStored = "; this could not be stored at once, which is tried again"

    /// Takes back an entry of a switch that was not accepted after all.
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

    /// The switch that has not ended yet.
    var current: Entry? { entries.last.flatMap { $0.status.phase.isOutcome ? nil : $0 } }
}

extension SwitchStatus {
    /// The answer to a confirmation that the policy has just heard.
    /// - Throws: where it was too late and changed nothing: the device is on its way back.
    func afterConfirmation() throws(ProtocolError) -> SwitchStatus {
        switch phase {
        // Heard before the network has proven itself, a confirmation counts once it has.
        case .committed, .validating, .waitingForAddress: return self
        case .accepted, .joining, .waitingForConfirmation, .rolledBack, .failed:
            throw .notWaiting(self, "the time to confirm the switch \(switchId) is over, and the device goes back")
        }
    }

    fileprivate func replacingText(by text: String) -> SwitchStatus {
        SwitchStatus(switchId: switchId, phase: phase, reason: reason, text: text, trafficOver: trafficOver)
    }

    fileprivate init(switchId: String, _ progress: SwitchProgress, target: String, trafficOver: Uplink?) {
        func status(_ phase: SwitchPhase, _ reason: ReasonCode? = nil, _ text: String? = nil) -> SwitchStatus {
            SwitchStatus(switchId: switchId, phase: phase, reason: reason, text: text, trafficOver: trafficOver)
        }
        let rest = trafficOver.map { "; its traffic goes on over \($0.words)" } ?? ""
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
                    .rolledBack, ReasonCode(failure), "\(target): \(failure.sentence); the device is where it was")
            case .failed(let failure):
                status(
                    .failed, ReasonCode(failure),
                    "\(target): \(failure.sentence); the device looks for another network")
            }
    }
}

extension ProtocolError {
    static func notWaiting(_ status: SwitchStatus, _ message: String) -> ProtocolError {
        ProtocolError(.notWaiting, message, details: ["phase": .text(status.phase.rawValue)])
    }
}
