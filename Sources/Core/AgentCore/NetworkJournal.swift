import AgentModel
import KeyFile

/// What the device learns of its stored networks while it runs, and when that is worth a write.
///
/// Flash wears with every write. Where a network is, why it could not be joined and where the device was last are worth
/// one, but not at once, and so are the days that speak for a security floor and which address its server gives; when it was last seen and how strongly is not, and goes
/// along with whatever else is written. What an access point says of itself before it has shown that it knows the
/// password is never written, nor is that a lease has become longer, by itself.
package struct NetworkJournal: Sendable, Equatable {
    /// What is worth a write is collected for so long, and after a refused one the disk is left alone for as long: so
    /// there are at most three an hour.
    static let patience = Duration.seconds(20 * 60)

    /// When to write; nil while there is nothing worth it.
    private(set) var due: Instant?
    private var notes: [Note] = []
    /// The network that the device was last online in, and the one before.
    private var current: StoredNetwork?
    private var previous: StoredNetwork?
    private var isOnline = false
    /// How the last commanded switch ended, until that is stored.
    private var outcome: SwitchOutcome?
    private var isWorthWritingSince: Instant?
    private var lastRefusal: Instant?

    fileprivate struct Note: Equatable {
        let network: StoredNetwork
        var seen: Instant?
        var signal: Int8?
        var frequency: Frequency?
        /// How the last join was authenticated, and the floor that was learned; nil where that is stored.
        var security: Security?
        var learnedFloor: LearnedFloor?
        var outcome: Outcome?
        /// The access points that its key has opened, the latest first; nil where that is not known to be news.
        var proven: [BSSID]?
        /// Its losses by hour of the day; nil where they are those that are stored.
        var losses: StoredLosses?
        /// What is known of its server's lease; nil where that is what is stored.
        var lease: Lease?
    }

    fileprivate enum Lease: Equatable {
        case given(StoredLease)
        case forgotten
    }

    /// How the last attempt to join a network ended.
    fileprivate enum Outcome: Equatable {
        case joined
        case failed(JoinFailure)
    }

    /// Begins with what is stored.
    init(_ state: StoredState) {
        current = state.current
        previous = state.previous
    }

    // MARK: What happened

    /// A scan found an access point of a network.
    mutating func saw(_ bss: BSS, of network: StoredNetwork) {
        note(network) { note in
            note.seen = bss.lastSeen
            note.signal = Int8(clamping: bss.signal)
            note.frequency = bss.frequency
        }
    }

    /// A link to a network was made, and authenticated so.
    mutating func negotiated(_ security: Security, in network: StoredNetwork) {
        note(network) { $0.security = security }
    }

    /// The floor of a network has been learned so far.
    mutating func learned(_ floor: LearnedFloor, of network: StoredNetwork) {
        note(network) { $0.learnedFloor = floor }
    }

    /// - Returns: nil where it is the one that is stored.
    func learnedFloor(of network: StoredNetwork) -> LearnedFloor? {
        notes.first { $0.network.isSame(as: network) }?.learnedFloor
    }

    /// What `journal`, this one a moment ago, knew of floors is stored. From here on the owner's word counts, which may
    /// lower them.
    mutating func storedFloors(of journal: NetworkJournal) {
        for stored in journal.notes {
            for index in notes.indices where notes[index].network.isSame(as: stored.network) {
                if notes[index].learnedFloor == stored.learnedFloor { notes[index].learnedFloor = nil }
                if notes[index].security == stored.security { notes[index].security = nil }
            }
        }
    }

    /// The signal of the network in use was measured, in dBm.
    mutating func measured(_ signal: Int, of network: StoredNetwork, at now: Instant) {
        note(network) { note in
            note.seen = now
            note.signal = Int8(clamping: signal)
        }
    }

    /// These access points of a network have completed a handshake with its key, the latest first.
    mutating func proved(_ accessPoints: [BSSID], of network: StoredNetwork) {
        note(network) { $0.proven = accessPoints }
    }

    /// The server of a network has given the device an address, or has prolonged it.
    /// - Parameter lease: nil where the last one counts no more.
    mutating func leased(_ lease: StoredLease?, in network: StoredNetwork) {
        note(network) { $0.lease = lease.map { .given($0) } ?? .forgotten }
    }

    /// The device has had these losses in a network, by hour of the day.
    mutating func lost(_ losses: StoredLosses, in network: StoredNetwork) { note(network) { $0.losses = losses } }

    mutating func failed(_ network: StoredNetwork, _ failure: JoinFailure) { end(network, .failed(failure)) }

    /// The device is online in a network, as it may have been before.
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

    /// A commanded switch has ended. The outcome goes along with every write until one succeeds: as long as the switch
    /// counts as pending, a restart takes the device back from where it was sent.
    mutating func ended(_ outcome: SwitchOutcome) { self.outcome = outcome }

    private mutating func note(_ network: StoredNetwork, _ change: (inout Note) -> Void) {
        if !notes.contains(where: { $0.network.isSame(as: network) }) { notes.append(Note(network: network)) }
        for index in notes.indices where notes[index].network.isSame(as: network) { change(&notes[index]) }
    }

    private mutating func end(_ network: StoredNetwork, _ outcome: Outcome) {
        note(network) { $0.outcome = outcome }
        // Of two networks with one name the latest outcome stands, so it comes last.
        guard let index = notes.firstIndex(where: { $0.network.isSame(as: network) }) else { return }
        notes.append(notes.remove(at: index))
    }

    // MARK: What is written

    /// Adds what was learnt. What is no longer stored is forgotten: also as the network before, and as the current one
    /// once the device has left it.
    func update(_ state: inout StoredState, _ clock: ClockReading) {
        settle(&state)
        addSecurity(to: &state)
        learn(&state, clock)
    }

    /// Adds what joins have shown of networks' security.
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

    /// Makes a change. Where that or an outcome that was not stored yet changes anything, what was learnt goes along.
    func update<Failure>(
        _ state: inout StoredState, _ clock: ClockReading, with change: (inout StoredState) throws(Failure) -> Void
    ) throws(Failure) {
        let before = state
        // Before the change, which may be the next switch, or the owner's word that lowers a floor.
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

    /// Adds only how the last switch ended, where that is not stored yet.
    func settle(_ state: inout StoredState) {
        if let outcome { state.settle(outcome) }
    }

    /// Decides when to write.
    /// - Parameter stored: what the key file has.
    mutating func review(over stored: StoredState, at clock: ClockReading) {
        forget(whatIsNotIn: stored)
        var new = stored
        update(&new, clock)
        // What a commit would drop is worth none.
        new = new.normalised()
        if new.isWorthWriting(over: stored) {
            isWorthWritingSince = isWorthWritingSince ?? clock.instant
        } else if let since = isWorthWritingSince, since + Self.patience <= clock.instant {
            // It was undone or written meanwhile. Asked earlier, a network that comes and goes would put it off for
            // ever.
            isWorthWritingSince = nil
        }
        if new.lacksNetwork(of: stored) {
            // A network that the user has removed goes at once.
            due = lastRefusal.map { $0 + Self.patience } ?? clock.instant
        } else {
            due = isWorthWritingSince.map { max($0, lastRefusal ?? $0) + Self.patience }
        }
    }

    /// The disk took what was due.
    mutating func written() {
        isWorthWritingSince = nil
        lastRefusal = nil
    }

    mutating func refused(at now: Instant) { lastRefusal = now }

    /// Passwords do not stay in memory for longer than on the disk.
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

    /// Whether one has completed a handshake, and there is room to remember it or none of the old ones has.
    fileprivate func hasNewProof(over old: NetworkStatistics) -> Bool {
        let before = Set(old.provenAccessPoints)
        guard !before.isSuperset(of: provenAccessPoints) else { return false }
        return before.count < Self.maximumAccessPoints || before.isDisjoint(with: provenAccessPoints)
    }
}

extension NetworkStatistics {
    /// Whether an hour has lost so much that the network is no place to be in it, of which the old losses say nothing.
    fileprivate func hasNewLosses(over old: NetworkStatistics) -> Bool {
        guard let losses else { return false }
        return losses.seconds.enumerated().contains { hour, seconds in
            let before = old.losses?.seconds.dropFirst(hour).first ?? 0
            return seconds >= Self.notableLoss && before < Self.notableLoss
        }
    }

    /// In seconds of an hour: as much as it costs to be away from the preferred network for that long.
    private static let notableLoss: UInt8 = 6
}

extension NetworkStatistics {
    /// Whether a restarted device asks for the same address by either: a later end, or other name servers, are worth no
    /// write.
    fileprivate func hasSameLease(as other: NetworkStatistics) -> Bool {
        guard let lease, let old = other.lease else { return (lease == nil) == (other.lease == nil) }
        return lease.address == old.address && lease.gateway == old.gateway
            && lease.gatewayHardware == old.gatewayHardware && lease.server == old.server
    }
}

extension StoredState {
    /// The copy that is kept of a network.
    fileprivate func named(_ network: StoredNetwork) -> StoredNetwork? {
        namedNetworks.first { $0.isSame(as: network) }
    }

    /// Whether it says more than `old` that the device should still know after a power cut.
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
