import AgentModel
import AppProtocol
import DHCP
import Failover
import KeyFile

/// Facts learned about the stored networks, and pending writes.
struct LearnedState: Sendable {
    var pendingStatistics: PendingStatistics
    /// Policy state already in `pendingStatistics`. Most events do not change it.
    var lastRecorded = LastRecorded()
    var isWriting = false
    var isStoreWritable = true
    var due: Instant?
    /// Networks whose history the policy has received.
    var remembered: Set<NetworkID> = []
    /// Leases of this run by network. Their end is known.
    var leases: [NetworkID: Lease] = [:]
    var ipv6Leases: [NetworkID: IPv6Lease] = [:]
    /// Days counted for and against each security floor.
    var minimumSecurityDays: [NetworkID: MinimumSecurityDays] = [:]
    var commits: UInt64 = 0
    var pending: [CommitID: PendingCommit] = [:]

    init(statistics: PendingStatistics) { self.pendingStatistics = statistics }
}

struct LastRecorded: Sendable {
    var phase: FailoverPolicy.Phase?
    /// Join failures in the order of the policy's networks.
    var failures: [JoinFailure?] = []
}

struct PendingCommit: Sendable {
    enum Purpose: Sendable {
        case statistics
        case accepted(RequestID, entry: UInt64)
        case outcome(entry: UInt64)
        case backups(RequestID)
        /// - Parameter request: Nil if the device has ended a staged password without a request.
        case staged(RequestID?)
        case name(RequestID)
    }

    let purpose: Purpose
    let statistics: PendingStatistics
    /// Stored state when the commit was requested.
    let before: StoredState
}

extension AgentCore {
    /// Sends the current networks to the policy, and the history of new networks.
    mutating func publishNetworks() {
        var state = state
        // Include an outcome that has not been stored yet.
        learned.pendingStatistics.applyOutcome(&state)
        // Learned security counts before it is stored.
        learned.pendingStatistics.addSecurity(to: &state)
        let command = state.pendingSwitch.flatMap { switches.ledger[$0.id] }
        let networks = registry.known(
            in: state, target: command?.target, origin: command?.origin, refusing: rotation.refusing,
            keeping: policy.phase.network)
        sendToPolicy(.networks(networks))
        for network in networks where !learned.remembered.contains(network.id) {
            // The target of a switch may use several channels, so send all of them.
            if let target = command?.target, registry[network.id] == target {
                for frequency in scans.seenChannels[network.ssid] { sendToPolicy(.remembered(network.id, frequency)) }
            }
            guard let statistics = state.statistics[network.ssid] else { continue }
            if let frequency = statistics.lastFrequency { sendToPolicy(.remembered(network.id, frequency)) }
            // With two keys under one name, verified access points are ambiguous.
            guard !state.hasTwoKeys(of: network.ssid) else { continue }
            for bssid in statistics.verifiedAccessPoints { sendToPolicy(.verified(network.id, bssid)) }
        }
        learned.remembered = Set(networks.map(\.id))
        learned.minimumSecurityDays = learned.minimumSecurityDays.filter { learned.remembered.contains($0.key) }
    }

    /// Updates the pending statistics after the policy has handled an event.
    /// - Returns: true if the pending statistics may be worth a write.
    mutating func recordStatistics(_ event: PolicyEvent) -> Bool {
        var isNews = false
        switch event {
        case .signal(let signal):
            if case .online(let link) = policy.phase, let network = registry[link.network] {
                learned.pendingStatistics.measured(signal, of: network, at: now.instant)
            }
        case .scanned(_, let results):
            for known in policy.networks {
                guard let network = registry[known.id], let bss = policy.lastObservation(of: known.id),
                    results.contains(bss),
                    !policy.isUnverified(bss.bssid, of: known.id)
                else { continue }
                learned.pendingStatistics.saw(bss, of: network)
            }
            isNews = true
        case .networks: isNews = true
        default: break
        }
        let failures = policy.networks.map { policy.lastFailure(of: $0.id) }
        guard isNews || failures != learned.lastRecorded.failures || policy.phase != learned.lastRecorded.phase else {
            return false
        }
        learned.lastRecorded = LastRecorded(phase: policy.phase, failures: failures)
        for known in policy.networks {
            let proven = policy.verifiedAccessPoints(of: known.id)
            if !proven.isEmpty, let network = registry[known.id] {
                learned.pendingStatistics.proved(proven, of: network)
            }
        }
        for (known, failure) in zip(policy.networks, failures) {
            if let failure, let network = registry[known.id] { learned.pendingStatistics.failed(network, failure) }
        }
        // An ephemeral network is not written to disk.
        if case .online(let link) = policy.phase, let network = registry[link.network],
            !policy.isOnEphemeralNetwork || state.holds(network)
        {
            learned.pendingStatistics.online(in: network, frequency: link.accessPoint.frequency)
        } else {
            learned.pendingStatistics.offline()
        }
        return true
    }

    /// Writes the pending statistics if due, else schedules the write.
    mutating func reviewStatistics() {
        guard !learned.isWriting else { return }
        learned.pendingStatistics.review(over: state, at: now)
        guard let due = learned.pendingStatistics.due, due > now.instant else {
            if lastPublished.timers.contains(.statistics) { wait(.statistics, until: nil) }
            if learned.pendingStatistics.due != nil { writeStatistics() }
            return
        }
        guard due != learned.due || !lastPublished.timers.contains(.statistics) else { return }
        learned.due = due
        wait(.statistics, until: due, leeway: .seconds(10))
    }

    /// Writes all learned facts, even if they are not worth a separate write.
    mutating func writeStatistics() {
        learned.isWriting = true
        commit(.learnt, for: .statistics)
    }

    /// Stores a change with learned facts and the last switch's outcome. Skips the write if the state stays the same.
    mutating func commit(_ kind: StateChange.Kind, for purpose: PendingCommit.Purpose) {
        learned.commits += 1
        let id = CommitID(learned.commits)
        learned.pending[id] = PendingCommit(purpose: purpose, statistics: learned.pendingStatistics, before: state)
        emit(
            .commit(id, StateChange(kind: kind, statistics: learned.pendingStatistics, clock: now, staged: stagedCount))
        )
    }

    mutating func committed(_ id: CommitID, _ new: StoredState) {
        guard let pending = learned.pending.removeValue(forKey: id) else { return }
        // An unchanged state is not written, so this commit does not prove that the store is writable.
        if new != state { storeChecked(true) }
        replaceState(new)
        switch pending.purpose {
        case .statistics:
            learned.pendingStatistics.written()
            learned.pendingStatistics.minimumSecurityStored(of: pending.statistics)
            learned.isWriting = false
            reviewStatistics()
        case .accepted(let request, let entry):
            if state != pending.before { learned.pendingStatistics.minimumSecurityStored(of: pending.statistics) }
            accepted(request, entry)
        case .outcome(let entry):
            if state != pending.before { learned.pendingStatistics.minimumSecurityStored(of: pending.statistics) }
            outcomeStored(entry)
        case .backups(let request):
            if state != pending.before { learned.pendingStatistics.minimumSecurityStored(of: pending.statistics) }
            publishNetworks()
            emit(.answer(request, .success(.backups(backupList(at: now)))))
        case .staged(let request):
            if state != pending.before { learned.pendingStatistics.minimumSecurityStored(of: pending.statistics) }
            stagedCommitted(request, before: pending.before)
        case .name(let request):
            if state != pending.before { learned.pendingStatistics.minimumSecurityStored(of: pending.statistics) }
            emit(.answer(request, .success(.network(status(at: now)))))
            updateStatus()
        }
    }

    /// Updates the status. While the store cannot be written, checks it again after an interval.
    mutating func storeChecked(_ isWritable: Bool) {
        wait(.store, until: isWritable ? nil : now.instant + Self.storeCheck, leeway: .seconds(10))
        guard isWritable != learned.isStoreWritable else { return }
        learned.isStoreWritable = isWritable
        updateStatus()
    }

    /// Interval of the checks of a store that cannot be written.
    private static let storeCheck = Duration.seconds(60)

    mutating func refusedCommit(_ id: CommitID, _ error: ProtocolError) {
        guard let pending = learned.pending.removeValue(forKey: id) else { return }
        if error.code == .storageFailed { storeChecked(false) }
        switch pending.purpose {
        case .statistics:
            log(.error, "cannot store what was learned about the networks, retrying: \(error)")
            learned.pendingStatistics.refused(at: now.instant)
            learned.isWriting = false
            reviewStatistics()
        case .accepted(let request, let entry):
            switches.ledger.remove(entry)
            emit(.answer(request, .failure(error)))
        case .outcome(let entry):
            log(.error, "cannot store the outcome of a switch, retrying: \(error)")
            outcomeStored(entry)
        case .backups(let request), .name(let request): emit(.answer(request, .failure(error)))
        case .staged(let request): stagedRefused(request, error)
        }
    }

    /// Adopts the stored state. Both a switch and an app can change the backups.
    private mutating func replaceState(_ new: StoredState) {
        let before = state.backupsRevision
        state = new
        guard new.backupsRevision != before else { return }
        log(.notice, "backup networks changed: \(new.backups.count), revision \(new.backupsRevision)")
        emit(.publish(.backupsChanged(backupList(at: now))))
    }

    /// Returns the backups with the current statistics, stored or not.
    package func backupList(at now: ClockReading) -> BackupList {
        var state = state
        learned.pendingStatistics.update(&state, now)
        func backup(_ network: StoredNetwork) -> BackupNetwork {
            BackupNetwork(network, state.statistics[network.ssid], localKey: localKey)
        }
        return BackupList(
            max: settings.maximumBackups, revision: Int(clamping: state.backupsRevision),
            networks: state.backups.map(backup), home: state.home.map(backup), chosen: state.chosen.map(backup),
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
            address: network.staticAddress, options: network.options)
    }
}
