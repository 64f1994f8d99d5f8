import AgentModel
import AppProtocol
import Failover
import KeyFile
import Linux

// What is learnt of the stored networks, and how it gets into the key file.
extension DeviceAgent {
    /// Notes what an event, which the policy has taken in, says of the stored networks.
    /// - Returns: whether it says anything that may be worth a write.
    func note(_ event: PolicyEvent) -> Bool {
        var isNews = false
        switch event {
        case .signal(let signal):
            if case .online(let link) = policy.phase, let network = book[link.network] {
                journal.measured(signal, of: network, at: .now)
            }
        case .scanned(_, let results):
            for known in policy.networks {
                guard let network = book[known.id], let bss = policy.lastObservation(of: known.id),
                    results.contains(bss),
                    !policy.isStranger(bss.bssid, of: known.id)
                else { continue }
                journal.saw(bss, of: network)
            }
            isNews = true
        // What is stored may have changed.
        case .networks: isNews = true
        default: break
        }
        let failures = policy.networks.map { policy.lastFailure(of: $0.id) }
        guard isNews || failures != noted.failures || policy.phase != noted.phase else { return false }
        noted = JournalNoted(phase: policy.phase, failures: failures)
        for known in policy.networks {
            let proven = policy.provenAccessPoints(of: known.id)
            if !proven.isEmpty, let network = book[known.id] { journal.proved(proven, of: network) }
        }
        for (known, failure) in zip(policy.networks, failures) {
            if let failure, let network = book[known.id] { journal.failed(network, failure) }
        }
        // Nothing is to be left on the disk of a network that is only visited.
        if case .online(let link) = policy.phase, let network = book[link.network],
            !policy.isVisiting || state.holds(network)
        {
            journal.online(in: network, frequency: link.accessPoint.frequency)
        } else {
            journal.offline()
        }
        return true
    }

    /// Writes the journal if that is due, or sets the timer for when it will be.
    func reviewJournal() {
        guard !isWritingJournal else { return }
        journal.review(over: state, at: .now)
        journalTimer = nil
        guard let due = journal.due else { return }
        guard due <= .now else {
            journalTimer = LoopTimer(after: due - .now, leeway: .seconds(10)) { [weak self] in self?.reviewJournal() }
            return
        }
        isWritingJournal = true
        Task {
            await writeJournal()
            isWritingJournal = false
            reviewJournal()
        }
    }

    /// Writes all that was learnt, whether it is worth a write or not.
    func writeJournal() async {
        let (journal, clock) = (journal, ClockReading.now)
        do {
            stored(try await store.update { state in journal.update(&state, clock) })
            self.journal.written()
            self.journal.storedFloors(of: journal)
        } catch {
            log.error("what was learnt of the networks could not be stored: \(error)")
            self.journal.refused(at: .now)
        }
    }

    /// Stores a change, and along with it what was learnt and how the last switch ended. A change that changes nothing
    /// writes nothing.
    func commit(
        _ change: @Sendable (inout StoredState) throws(ProtocolError) -> Void
    ) async throws(ProtocolError) {
        let (journal, clock) = (journal, ClockReading.now)
        let before = state
        stored(
            try await store.update { state throws(ProtocolError) in
                try journal.update(&state, clock, with: change)
            })
        if state != before { self.journal.storedFloors(of: journal) }
    }

    /// Takes over what is stored now. A switch can change the list of backups as well as an app can.
    private func stored(_ new: StoredState) {
        let before = state.backupsRevision
        state = new
        guard new.backupsRevision != before else { return }
        log.notice("the list of backups has \(new.backups.count) networks, revision \(new.backupsRevision)")
        hub.publish(.backupsChanged(backupList))
    }
}

/// What of the policy's state the journal knows: most events change nothing of it.
struct JournalNoted {
    var phase: FailoverPolicy.Phase?
    /// Of the policy's networks, in their order.
    var failures: [JoinFailure?] = []
}
