import AgentModel
import AppProtocol
import DHCP
import Failover
import KeyFile

/// Facts learned about the stored networks, and pending writes.
struct Memory: Sendable {
    var journal: NetworkJournal
    /// Policy state already in the journal. Most events do not change it.
    var noted = JournalNoted()
    var isWriting = false
    var due: Instant?
    /// Wall clock at instant 0, in ms since 1970, as last sent to the policy.
    var wallClockOffset: Int64?
    /// Networks whose history the policy has received.
    var remembered: Set<NetworkID> = []
    /// Leases of this run by network. Their end is known.
    var leases: [NetworkID: Lease] = [:]
    var ipv6Leases: [NetworkID: IPv6Lease] = [:]
    /// Days counted for and against each security floor.
    var floors: [NetworkID: FloorDays] = [:]
    var commits: UInt64 = 0
    var pending: [CommitID: PendingCommit] = [:]

    init(journal: NetworkJournal) { self.journal = journal }
}

struct JournalNoted: Sendable {
    var phase: FailoverPolicy.Phase?
    /// In the order of the policy's networks.
    var failures: [JoinFailure?] = []
}

struct PendingCommit: Sendable {
    enum Purpose: Sendable {
        case journal
        case accepted(RequestID, entry: UInt64)
        case outcome(entry: UInt64)
        case backups(RequestID)
        /// - Parameter request: Nil if the device ended one itself.
        case staged(RequestID?)
    }

    let purpose: Purpose
    let journal: NetworkJournal
    /// The stored state at that time.
    let before: StoredState
}

extension AgentCore {
    /// Sends the current networks to the policy, and the history of new ones.
    mutating func publishNetworks() {
        var state = state
        // Includes an outcome that has not been stored yet.
        memory.journal.settle(&state)
        // Learned security counts before it is stored.
        memory.journal.addSecurity(to: &state)
        let command = state.pendingSwitch.flatMap { switches.ledger[$0.id] }
        let networks = book.known(
            in: state, target: command?.target, origin: command?.origin, refusing: staged.refusing,
            keeping: policy.phase.network)
        tell(.networks(networks))
        for network in networks where !memory.remembered.contains(network.id) {
            // The target of a switch may be in several places, so all its channels are sent.
            if let target = command?.target, book[network.id] == target {
                for frequency in scans.places[network.ssid] { tell(.remembered(network.id, frequency)) }
            }
            guard let statistics = state.statistics[network.ssid] else { continue }
            if let frequency = statistics.lastFrequency { tell(.remembered(network.id, frequency)) }
            if let losses = statistics.losses { tell(.lostByHour(network.id, KeptLosses(losses))) }
            // With two keys under one name, verified access points are ambiguous.
            guard !state.hasTwoKeys(of: network.ssid) else { continue }
            for bssid in statistics.provenAccessPoints { tell(.proven(network.id, bssid)) }
        }
        memory.remembered = Set(networks.map(\.id))
        memory.floors = memory.floors.filter { memory.remembered.contains($0.key) }
    }

    /// Sends the wall clock to the policy if it has changed.
    mutating func tellWallClock() {
        let (offset, isTooLong) = now.time.millisecondsSince1970.subtractingReportingOverflow(now.instant.milliseconds)
        guard !isTooLong, Self.offsets.contains(offset) else { return }
        if let told = memory.wallClockOffset, abs(offset - told) <= Self.clockTolerance { return }
        memory.wallClockOffset = offset
        tell(.wallClock(offset: offset))
    }

    /// Tolerance in ms. Hours of the day may be off by this much.
    private static let clockTolerance: Int64 = 5 * 60_000
    /// Plausible offsets in ms since 1970.
    private static let offsets: ClosedRange<Int64> = 0...1 << 50

    /// Updates the journal after the policy has handled an event.
    /// - Returns: true if a write may be worthwhile.
    mutating func note(_ event: PolicyEvent) -> Bool {
        var isNews = false
        switch event {
        case .signal(let signal):
            if case .online(let link) = policy.phase, let network = book[link.network] {
                memory.journal.measured(signal, of: network, at: now.instant)
            }
        case .scanned(_, let results):
            for known in policy.networks {
                guard let network = book[known.id], let bss = policy.lastObservation(of: known.id),
                    results.contains(bss),
                    !policy.isUnproven(bss.bssid, of: known.id)
                else { continue }
                memory.journal.saw(bss, of: network)
            }
            isNews = true
        case .networks: isNews = true
        default: break
        }
        let failures = policy.networks.map { policy.lastFailure(of: $0.id) }
        guard isNews || failures != memory.noted.failures || policy.phase != memory.noted.phase else { return false }
        memory.noted = JournalNoted(phase: policy.phase, failures: failures)
        for known in policy.networks {
            let proven = policy.provenAccessPoints(of: known.id)
            if !proven.isEmpty, let network = book[known.id] { memory.journal.proved(proven, of: network) }
        }
        noteLosses()
        for (known, failure) in zip(policy.networks, failures) {
            if let failure, let network = book[known.id] { memory.journal.failed(network, failure) }
        }
        // An ephemeral network is not written to disk.
        if case .online(let link) = policy.phase, let network = book[link.network],
            !policy.isVisiting || state.holds(network)
        {
            memory.journal.online(in: network, frequency: link.accessPoint.frequency)
        } else {
            memory.journal.offline()
        }
        return true
    }

    /// Records losses. They change with every sample, so they are read only with other changes or writes.
    private mutating func noteLosses() {
        for known in policy.networks {
            if let losses = policy.lostByHour(of: known.id, at: now.instant), let network = book[known.id] {
                memory.journal.lost(StoredLosses(losses), in: network)
            }
        }
    }

    /// Writes the journal if due, else schedules it.
    mutating func reviewJournal() {
        guard !memory.isWriting else { return }
        memory.journal.review(over: state, at: now)
        guard let due = memory.journal.due, due > now.instant else {
            if notes.timers.contains(.journal) { wait(.journal, until: nil) }
            if memory.journal.due != nil { writeJournal() }
            return
        }
        guard due != memory.due || !notes.timers.contains(.journal) else { return }
        memory.due = due
        wait(.journal, until: due, leeway: .seconds(10))
    }

    /// Writes everything learned, even if not worth a write alone.
    mutating func writeJournal() {
        memory.isWriting = true
        noteLosses()
        commit(.learnt, for: .journal)
    }

    /// Stores a change, with learned facts and the last switch's outcome. Writes nothing if nothing changes.
    @discardableResult
    mutating func commit(_ kind: StateChange.Kind, for purpose: PendingCommit.Purpose) -> CommitID {
        memory.commits += 1
        let id = CommitID(memory.commits)
        memory.pending[id] = PendingCommit(purpose: purpose, journal: memory.journal, before: state)
        order(.commit(id, StateChange(kind: kind, journal: memory.journal, clock: now, staged: stagedCount)))
        return id
    }

    mutating func committed(_ id: CommitID, _ new: StoredState) {
        guard let pending = memory.pending.removeValue(forKey: id) else { return }
        takeOver(new)
        switch pending.purpose {
        case .journal:
            memory.journal.written()
            memory.journal.storedFloors(of: pending.journal)
            memory.isWriting = false
            reviewJournal()
        case .accepted(let request, let entry):
            if state != pending.before { memory.journal.storedFloors(of: pending.journal) }
            accepted(request, entry)
        case .outcome(let entry):
            if state != pending.before { memory.journal.storedFloors(of: pending.journal) }
            settled(entry)
        case .backups(let request):
            if state != pending.before { memory.journal.storedFloors(of: pending.journal) }
            publishNetworks()
            order(.answer(request, .success(.backups(backupList(at: now)))))
        case .staged(let request):
            if state != pending.before { memory.journal.storedFloors(of: pending.journal) }
            stagedCommitted(request, before: pending.before)
        }
    }

    mutating func refusedCommit(_ id: CommitID, _ error: ProtocolError) {
        guard let pending = memory.pending.removeValue(forKey: id) else { return }
        switch pending.purpose {
        case .journal:
            say(.error, "cannot store what was learned about the networks, retrying: \(error)")
            memory.journal.refused(at: now.instant)
            memory.isWriting = false
            reviewJournal()
        case .accepted(let request, let entry):
            switches.ledger.remove(entry)
            order(.answer(request, .failure(error)))
        case .outcome(let entry):
            say(.error, "cannot store the outcome of a switch, retrying: \(error)")
            settled(entry)
        case .backups(let request): order(.answer(request, .failure(error)))
        case .staged(let request): stagedRefused(request, error)
        }
    }

    /// Adopts the stored state. Both a switch and an app can change the backups.
    private mutating func takeOver(_ new: StoredState) {
        let before = state.backupsRevision
        state = new
        guard new.backupsRevision != before else { return }
        say(.notice, "backup networks changed: \(new.backups.count), revision \(new.backupsRevision)")
        order(.publish(.backupsChanged(backupList(at: now))))
    }

    /// Returns the backups with all current statistics, stored or not.
    package func backupList(at now: ClockReading) -> BackupList {
        var state = state
        memory.journal.update(&state, now)
        func told(_ network: StoredNetwork) -> BackupNetwork {
            BackupNetwork(network, state.statistics[network.ssid], localKey: localKey)
        }
        return BackupList(
            max: settings.maximumBackups, revision: Int(clamping: state.backupsRevision),
            networks: state.backups.map(told), home: state.home.map(told), chosen: state.chosen.map(told),
            staged: state.staged.map { entry in
                StagedPasswordStatus(entry, in: state, localKey: localKey, until: until(entry, at: now))
            })
    }
}

extension BackupNetwork {
    fileprivate init(_ network: StoredNetwork, _ statistics: NetworkStatistics?, localKey: Secret) {
        self.init(
            ssid: network.ssid, hash: network.hash(localKey: localKey),
            security: network.security ?? network.likelySecurity,
            isHidden: network.isHidden,
            lastSeen: statistics?.lastSeen.map { Timestamp(millisecondsSince1970: Int64($0) * 1000) },
            lastSignal: statistics?.lastSignal.map(Int.init), lastFailure: statistics?.lastFailure,
            address: network.staticAddress)
    }
}

extension KeptLosses {
    fileprivate init(_ stored: StoredLosses) {
        self.init(day: Int64(stored.day), seconds: stored.seconds.map(Int.init))
    }
}

extension StoredLosses {
    fileprivate init(_ kept: KeptLosses) {
        self.init(day: UInt16(clamping: kept.day), seconds: kept.seconds.map(UInt8.init(clamping:)))
    }
}
