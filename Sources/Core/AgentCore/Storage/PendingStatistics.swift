import AgentModel
import KeyFile

/// Facts learned about stored networks, and when to write them.
///
/// Flash wears out, so writes are delayed and combined. These new facts are worth a write: channel, join failure, last
/// network, verified access point, security floor and leased address. The last seen time, the signal and the end of a
/// lease are only added to other writes. Data from unverified access points is never written.
package struct PendingStatistics: Sendable, Equatable {
    /// Delay of a write, and pause after a failed one: at most three writes an hour.
    static let patience = Duration.seconds(20 * 60)

    /// Time of the next write; nil without a change that is worth one.
    private(set) var due: Instant?
    private var entries: [Entry] = []
    /// Network in which the device was last online.
    private var current: StoredNetwork?
    /// Network in which the device was online before `current`.
    private var previous: StoredNetwork?
    private var isOnline = false
    /// Outcome of the last commanded switch, until it is stored.
    private var outcome: SwitchOutcome?
    private var isWorthWritingSince: Instant?
    private var lastRefusal: Instant?

    fileprivate struct Entry: Equatable {
        let network: StoredNetwork
        var seen: Instant?
        var signal: Int8?
        var frequency: Frequency?
        /// Security of the last join; nil if the key file already has it.
        var security: Security?
        /// Learned security floor; nil if the key file already has it.
        var learnedMinimumSecurity: LearnedMinimumSecurity?
        var outcome: Outcome?
        /// Verified access points, latest first; nil if unchanged.
        var proven: [BSSID]?
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
        change(network) { entry in
            entry.seen = bss.lastSeen
            entry.signal = Int8(clamping: bss.signal)
            entry.frequency = bss.frequency
        }
    }

    mutating func negotiated(_ security: Security, in network: StoredNetwork) {
        change(network) { $0.security = security }
    }

    mutating func learned(_ minimumSecurity: LearnedMinimumSecurity, of network: StoredNetwork) {
        change(network) { $0.learnedMinimumSecurity = minimumSecurity }
    }

    /// - Returns: nil if the stored security floor is current.
    func learnedMinimumSecurity(of network: StoredNetwork) -> LearnedMinimumSecurity? {
        entries.first { $0.network.isSame(as: network) }?.learnedMinimumSecurity
    }

    /// Drops security floors and types that have been stored with `statistics`. From now on the user may lower them.
    mutating func minimumSecurityStored(of statistics: PendingStatistics) {
        for stored in statistics.entries {
            for index in entries.indices where entries[index].network.isSame(as: stored.network) {
                if entries[index].learnedMinimumSecurity == stored.learnedMinimumSecurity {
                    entries[index].learnedMinimumSecurity = nil
                }
                if entries[index].security == stored.security { entries[index].security = nil }
            }
        }
    }

    /// - Parameter signal: Signal of the current network in dBm.
    mutating func measured(_ signal: Int, of network: StoredNetwork, at now: Instant) {
        change(network) { entry in
            entry.seen = now
            entry.signal = Int8(clamping: signal)
        }
    }

    /// - Parameter accessPoints: Access points that completed a handshake with the key, latest first.
    mutating func proved(_ accessPoints: [BSSID], of network: StoredNetwork) {
        change(network) { $0.proven = accessPoints }
    }

    /// - Parameter lease: New or renewed lease; nil if the last lease is no longer valid.
    mutating func leased(_ lease: StoredLease?, in network: StoredNetwork) {
        change(network) { $0.lease = lease.map { .given($0) } ?? .forgotten }
    }

    mutating func failed(_ network: StoredNetwork, _ failure: JoinFailure) { recordOutcome(network, .failed(failure)) }

    mutating func online(in network: StoredNetwork, frequency: Frequency?) {
        isOnline = true
        if current?.isSame(as: network) != true {
            previous = current
            current = network
        }
        recordOutcome(network, .joined)
        if let frequency { change(network) { $0.frequency = frequency } }
    }

    mutating func offline() { isOnline = false }

    /// Adds the outcome of a switch to every write until one succeeds. Otherwise a restart would undo the switch.
    mutating func ended(_ outcome: SwitchOutcome) { self.outcome = outcome }

    private mutating func change(_ network: StoredNetwork, _ change: (inout Entry) -> Void) {
        if !entries.contains(where: { $0.network.isSame(as: network) }) { entries.append(Entry(network: network)) }
        for index in entries.indices where entries[index].network.isSame(as: network) { change(&entries[index]) }
    }

    private mutating func recordOutcome(_ network: StoredNetwork, _ outcome: Outcome) {
        change(network) { $0.outcome = outcome }
        // The latest outcome counts among networks with the same name, so move it to the end.
        guard let index = entries.firstIndex(where: { $0.network.isSame(as: network) }) else { return }
        entries.append(entries.remove(at: index))
    }

    // MARK: Writes

    /// Adds all learned facts. Removes the current and previous networks if they are no longer stored, but keeps the
    /// network in use.
    func update(_ state: inout StoredState, _ clock: ClockReading) {
        applyOutcome(&state)
        addSecurity(to: &state)
        learn(&state, clock)
    }

    func addSecurity(to state: inout StoredState) {
        for entry in entries {
            if let security = entry.security { state.recordSecurity(security, of: entry.network) }
            guard let minimumSecurity = entry.learnedMinimumSecurity, let network = state.named(entry.network) else {
                continue
            }
            state.statistics[network.ssid, default: NetworkStatistics()].learnedMinimumSecurity = minimumSecurity
        }
    }

    private func learn(_ state: inout StoredState, _ clock: ClockReading) {
        for entry in entries {
            guard let network = state.named(entry.network) else { continue }
            state.statistics[network.ssid, default: NetworkStatistics()].add(entry, clock)
            if state.hasTwoKeys(of: network.ssid) { state.statistics[network.ssid]?.verifiedAccessPoints = [] }
        }
        state.previous = previous.flatMap { state.named($0) }
        state.current = current.flatMap { state.named($0) ?? (isOnline ? $0 : nil) }
    }

    /// Applies a change. Adds learned facts if the change or a pending outcome has an effect.
    func update<Failure>(
        _ state: inout StoredState, _ clock: ClockReading, with change: (inout StoredState) throws(Failure) -> Void
    ) throws(Failure) {
        let before = state
        // Apply the outcome first: the change may be the next switch, or lower a security floor.
        applyOutcome(&state)
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
    func applyOutcome(_ state: inout StoredState) {
        if let outcome { state.applyOutcome(outcome) }
    }

    /// Decides when to write, by comparison with the content of the key file.
    mutating func review(over stored: StoredState, at clock: ClockReading) {
        forget(whatIsNotIn: stored)
        var new = stored
        update(&new, clock)
        // Ignore data that a commit would drop.
        new = new.normalised()
        if new.isWorthWriting(over: stored) {
            isWorthWritingSince = isWorthWritingSince ?? clock.instant
        } else if let since = isWorthWritingSince, since + Self.patience <= clock.instant {
            // The change was undone or written. Check this only after the delay: otherwise a flapping network would
            // delay the write forever.
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
        applyOutcome(&state)
        if let network = previous, state.named(network) == nil { previous = nil }
        if !isOnline, let network = current, state.named(network) == nil { current = nil }
        let others = [current, target].compactMap(\.self)
        entries.removeAll { entry in
            state.named(entry.network) == nil && !others.contains { $0.isSame(as: entry.network) }
        }
    }
}

extension NetworkStatistics {
    fileprivate mutating func add(_ entry: PendingStatistics.Entry, _ clock: ClockReading) {
        lastSeen = entry.seen.map(clock.seconds) ?? lastSeen
        lastSignal = entry.signal ?? lastSignal
        lastFrequency = entry.frequency ?? lastFrequency
        switch entry.outcome {
        case .joined: lastFailure = nil
        case .failed(let failure): lastFailure = failure
        case nil: break
        }
        verifiedAccessPoints = entry.proven ?? verifiedAccessPoints
        switch entry.lease {
        case .given(let given): lease = given
        case .forgotten: lease = nil
        case nil: break
        }
    }

    /// Whether an access point is newly verified, and there is room for it or all old ones have been replaced.
    fileprivate func hasNewProof(over old: NetworkStatistics) -> Bool {
        let before = Set(old.verifiedAccessPoints)
        guard !before.isSuperset(of: verifiedAccessPoints) else { return false }
        return before.count < Self.maximumAccessPoints || before.isDisjoint(with: verifiedAccessPoints)
    }
}

extension NetworkStatistics {
    /// Whether both leases give the same address after a restart. A later end and other name servers do not matter.
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

    /// Whether this contains changes that must survive a power cut.
    fileprivate func isWorthWriting(over old: StoredState) -> Bool {
        pendingSwitch?.id != old.pendingSwitch?.id
            || isElsewhere(current, old.current) || isElsewhere(previous, old.previous)
            || statistics.contains { ssid, new in
                let old = old.statistics[ssid] ?? NetworkStatistics()
                return (new.lastSeen != nil && old.lastSeen == nil) || new.lastFrequency != old.lastFrequency
                    || new.lastFailure != old.lastFailure || new.hasNewProof(over: old)
                    || !new.hasSameLease(as: old) || new.learnedMinimumSecurity != old.learnedMinimumSecurity
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
