import AgentModel
import KeyFile

/// Facts learned about stored networks, and when to write them.
///
/// Flash wears out, so writes are delayed and combined. Worth a write: channel, join failure, last network, security
/// floor and leased address. Last seen time, signal and the end of a lease are only added to other writes. Data from
/// unverified access points is never written.
package struct NetworkJournal: Sendable, Equatable {
    /// Delay of a write, and pause after a failed one: at most three writes an hour.
    static let patience = Duration.seconds(20 * 60)

    /// Time of the next write; nil if there is nothing to write.
    private(set) var due: Instant?
    private var notes: [Note] = []
    /// Network in which the device was last online, and the one before.
    private var current: StoredNetwork?
    private var previous: StoredNetwork?
    private var isOnline = false
    /// Outcome of the last commanded switch until stored.
    private var outcome: SwitchOutcome?
    private var isWorthWritingSince: Instant?
    private var lastRefusal: Instant?

    fileprivate struct Note: Equatable {
        let network: StoredNetwork
        var seen: Instant?
        var signal: Int8?
        var frequency: Frequency?
        /// Security of the last join, and the learned floor; nil if stored.
        var security: Security?
        var learnedFloor: LearnedFloor?
        var outcome: Outcome?
        /// Verified access points, latest first; nil if unchanged.
        var proven: [BSSID]?
        /// Losses by hour of the day; nil if unchanged.
        var losses: StoredLosses?
        /// Change of the lease; nil if unchanged.
        var lease: Lease?
    }

    fileprivate enum Lease: Equatable {
        case given(StoredLease)
        case forgotten
    }

    fileprivate enum Outcome: Equatable {
        case joined
        case failed(JoinFailure)
    }

    init(_ state: StoredState) {
        current = state.current
        previous = state.previous
    }

    // MARK: Events

    mutating func saw(_ bss: BSS, of network: StoredNetwork) {
        note(network) { note in
            note.seen = bss.lastSeen
            note.signal = Int8(clamping: bss.signal)
            note.frequency = bss.frequency
        }
    }

    mutating func negotiated(_ security: Security, in network: StoredNetwork) {
        note(network) { $0.security = security }
    }

    mutating func learned(_ floor: LearnedFloor, of network: StoredNetwork) {
        note(network) { $0.learnedFloor = floor }
    }

    /// - Returns: nil if the stored floor is current.
    func learnedFloor(of network: StoredNetwork) -> LearnedFloor? {
        notes.first { $0.network.isSame(as: network) }?.learnedFloor
    }

    /// Drops floors that were stored with an earlier copy of the journal. The user may lower them from now on.
    mutating func storedFloors(of journal: NetworkJournal) {
        for stored in journal.notes {
            for index in notes.indices where notes[index].network.isSame(as: stored.network) {
                if notes[index].learnedFloor == stored.learnedFloor { notes[index].learnedFloor = nil }
                if notes[index].security == stored.security { notes[index].security = nil }
            }
        }
    }

    /// - Parameter signal: Signal of the current network in dBm.
    mutating func measured(_ signal: Int, of network: StoredNetwork, at now: Instant) {
        note(network) { note in
            note.seen = now
            note.signal = Int8(clamping: signal)
        }
    }

    /// - Parameter accessPoints: Access points that completed a handshake with the key, latest first.
    mutating func proved(_ accessPoints: [BSSID], of network: StoredNetwork) {
        note(network) { $0.proven = accessPoints }
    }

    /// - Parameter lease: New or renewed lease; nil if it is no longer valid.
    mutating func leased(_ lease: StoredLease?, in network: StoredNetwork) {
        note(network) { $0.lease = lease.map { .given($0) } ?? .forgotten }
    }

    mutating func lost(_ losses: StoredLosses, in network: StoredNetwork) { note(network) { $0.losses = losses } }

    mutating func failed(_ network: StoredNetwork, _ failure: JoinFailure) { end(network, .failed(failure)) }

    mutating func online(in network: StoredNetwork, frequency: Frequency?) {
        isOnline = true
        if current?.isSame(as: network) != true {
            previous = current
            current = network
        }
        end(network, .joined)
        if let frequency { note(network) { $0.frequency = frequency } }
    }

    mutating func offline() { isOnline = false }

    /// Adds the outcome of a switch to every write until one succeeds. A restart undoes a pending switch.
    mutating func ended(_ outcome: SwitchOutcome) { self.outcome = outcome }

    private mutating func note(_ network: StoredNetwork, _ change: (inout Note) -> Void) {
        if !notes.contains(where: { $0.network.isSame(as: network) }) { notes.append(Note(network: network)) }
        for index in notes.indices where notes[index].network.isSame(as: network) { change(&notes[index]) }
    }

    private mutating func end(_ network: StoredNetwork, _ outcome: Outcome) {
        note(network) { $0.outcome = outcome }
        // The latest outcome counts for networks with the same name, so it comes last.
        guard let index = notes.firstIndex(where: { $0.network.isSame(as: network) }) else { return }
        notes.append(notes.remove(at: index))
    }

    // MARK: Writes

    /// Adds everything learned and removes networks that are no longer stored, the current one once it is left.
    func update(_ state: inout StoredState, _ clock: ClockReading) {
        settle(&state)
        addSecurity(to: &state)
        learn(&state, clock)
    }

    func addSecurity(to state: inout StoredState) {
        for note in notes {
            if let security = note.security { state.note(security, of: note.network) }
            guard let floor = note.learnedFloor, let network = state.named(note.network) else { continue }
            state.statistics[network.ssid, default: NetworkStatistics()].learnedFloor = floor
        }
    }

    private func learn(_ state: inout StoredState, _ clock: ClockReading) {
        for note in notes {
            guard let network = state.named(note.network) else { continue }
            state.statistics[network.ssid, default: NetworkStatistics()].add(note, clock)
            if state.hasTwoKeys(of: network.ssid) { state.statistics[network.ssid]?.provenAccessPoints = [] }
        }
        state.previous = previous.flatMap { state.named($0) }
        state.current = current.flatMap { state.named($0) ?? (isOnline ? $0 : nil) }
    }

    /// Applies a change. Learned facts are added if it, or a pending outcome, has an effect.
    func update<Failure>(
        _ state: inout StoredState, _ clock: ClockReading, with change: (inout StoredState) throws(Failure) -> Void
    ) throws(Failure) {
        let before = state
        // Before the change: it may be the next switch, or lower a floor.
        settle(&state)
        let isUnchanged = state == before
        addSecurity(to: &state)
        let raised = state
        try change(&state)
        if isUnchanged, state == raised {
            state = before
        } else {
            learn(&state, clock)
        }
    }

    /// Adds the outcome of the last switch if it is not stored yet.
    func settle(_ state: inout StoredState) {
        if let outcome { state.settle(outcome) }
    }

    /// Decides when to write, compared to the content of the key file.
    mutating func review(over stored: StoredState, at clock: ClockReading) {
        forget(whatIsNotIn: stored)
        var new = stored
        update(&new, clock)
        // Data that a commit would drop is not worth a write.
        new = new.normalised()
        if new.isWorthWriting(over: stored) {
            isWorthWritingSince = isWorthWritingSince ?? clock.instant
        } else if let since = isWorthWritingSince, since + Self.patience <= clock.instant {
            // The change was undone or written. Checked late, or a flapping network would delay the write forever.
            isWorthWritingSince = nil
        }
        if new.lacksNetwork(of: stored) {
            // A network removed by the user is deleted immediately.
            due = lastRefusal.map { $0 + Self.patience } ?? clock.instant
        } else {
            due = isWorthWritingSince.map { max($0, lastRefusal ?? $0) + Self.patience }
        }
    }

    mutating func written() {
        isWorthWritingSince = nil
        lastRefusal = nil
    }

    mutating func refused(at now: Instant) { lastRefusal = now }

    /// Forgets networks that are no longer stored, so that passwords do not stay in memory.
    private mutating func forget(whatIsNotIn stored: StoredState) {
        if stored.pendingSwitch?.id != outcome?.switchID { outcome = nil }
        let target = outcome == nil ? stored.pendingSwitch?.target : nil
        var state = stored
        settle(&state)
        if let network = previous, state.named(network) == nil { previous = nil }
        if !isOnline, let network = current, state.named(network) == nil { current = nil }
        let others = [current, target].compactMap(\.self)
        notes.removeAll { note in
            state.named(note.network) == nil && !others.contains { $0.isSame(as: note.network) }
        }
    }
}

extension NetworkStatistics {
    fileprivate mutating func add(_ note: NetworkJournal.Note, _ clock: ClockReading) {
        lastSeen = note.seen.map(clock.seconds) ?? lastSeen
        lastSignal = note.signal ?? lastSignal
        lastFrequency = note.frequency ?? lastFrequency
        switch note.outcome {
        case .joined: lastFailure = nil
        case .failed(let failure): lastFailure = failure
        case nil: break
        }
        provenAccessPoints = note.proven ?? provenAccessPoints
        losses = note.losses ?? losses
        switch note.lease {
        case .given(let given): lease = given
        case .forgotten: lease = nil
        case nil: break
        }
    }

    /// Whether an access point is newly verified, and there is room for it or all old ones have changed.
    fileprivate func hasNewProof(over old: NetworkStatistics) -> Bool {
        let before = Set(old.provenAccessPoints)
        guard !before.isSuperset(of: provenAccessPoints) else { return false }
        return before.count < Self.maximumAccessPoints || before.isDisjoint(with: provenAccessPoints)
    }
}

extension NetworkStatistics {
    /// Whether an hour has become lossy that was not before.
    fileprivate func hasNewLosses(over old: NetworkStatistics) -> Bool {
        guard let losses else { return false }
        return losses.seconds.enumerated().contains { hour, seconds in
            let before = old.losses?.seconds.dropFirst(hour).first ?? 0
            return seconds >= Self.notableLoss && before < Self.notableLoss
        }
    }

    /// Seconds of loss in an hour: about the cost of leaving the preferred network for that hour.
    private static let notableLoss: UInt8 = 6
}

extension NetworkStatistics {
    /// Whether both leases lead to the same address after a restart. A later end and other name servers do not matter.
    fileprivate func hasSameLease(as other: NetworkStatistics) -> Bool {
        guard let lease, let old = other.lease else { return (lease == nil) == (other.lease == nil) }
        return lease.address == old.address && lease.gateway == old.gateway
            && lease.gatewayHardware == old.gatewayHardware && lease.server == old.server
    }
}

extension StoredState {
    fileprivate func named(_ network: StoredNetwork) -> StoredNetwork? {
        namedNetworks.first { $0.isSame(as: network) }
    }

    /// Whether this contains news that must survive a power cut.
    fileprivate func isWorthWriting(over old: StoredState) -> Bool {
        pendingSwitch?.id != old.pendingSwitch?.id
            || isElsewhere(current, old.current) || isElsewhere(previous, old.previous)
            || statistics.contains { ssid, new in
                let old = old.statistics[ssid] ?? NetworkStatistics()
                return (new.lastSeen != nil && old.lastSeen == nil) || new.lastFrequency != old.lastFrequency
                    || new.lastFailure != old.lastFailure || new.hasNewProof(over: old)
                    || !new.hasSameLease(as: old) || new.hasNewLosses(over: old)
                    || new.learnedFloor != old.learnedFloor
            }
            || old.statistics.contains { $1.lease != nil && statistics[$0] == nil }
    }

    private func isElsewhere(_ new: StoredNetwork?, _ old: StoredNetwork?) -> Bool {
        guard let new, let old else { return new != old }
        return !new.isSame(as: old)
    }

    fileprivate func lacksNetwork(of old: StoredState) -> Bool {
        let networks = namedNetworks + [current, previous].compactMap(\.self)
        return [old.current, old.previous].compactMap(\.self).contains { old in
            !networks.contains { $0.isSame(as: old) }
        }
    }
}
