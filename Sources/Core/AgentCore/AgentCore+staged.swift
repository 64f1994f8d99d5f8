import AgentModel
import AppProtocol
import Failover
import KeyFile

/// A newer password of a stored network, from an app, its key derived.
package struct NewPassword: Sendable, Equatable {
    let changeID: String
    let ssid: SSID
    let key: StagedPassword.Key
    /// In seconds; nil for as long as it takes.
    let keepFor: Int?

    package init(changeID: String, ssid: SSID, key: StagedPassword.Key, keepFor: Int?) {
        (self.changeID, self.ssid, self.key, self.keepFor) = (changeID, ssid, key, keepFor)
    }
}

/// What is known of staged passwords beside what is stored of them.
struct StagedDesk: Sendable {
    /// Networks that have refused the password that they are stored with, where another one may be right.
    var refusing: Set<NetworkID> = []
    /// An end that is on its way to the disk.
    var isWriting = false
    /// When those that are not kept for ever are given up, by their change.
    var ends: [String: Instant] = [:]
    /// After a disk that refused one: not before that.
    var retry: Instant?
    /// The count that goes along with a journal is not written again before that.
    var nextCount: Instant?
    var wake: Instant?

    static let patience = Duration.seconds(60)
}

extension AgentCore {
    mutating func dropPassword(_ changeID: String, _ id: RequestID) throws(ProtocolError) {
        guard state.staged.contains(where: { $0.id == changeID }) else {
            throw ProtocolError(.unknownNetwork, "no password of this name is staged").about("body.changeId")
        }
        commit(.stagedEnded(changeID, .dropped), for: .staged(id))
    }

    /// Looks after every event whether one of the two passwords has turned out right, or its time is over.
    mutating func reviewStaged() {
        let waiting = state.staged.filter { $0.phase == .staged }
        guard !waiting.isEmpty || !staged.refusing.isEmpty || staged.wake != nil else { return }
        reviewEnds(waiting)
        reviewRefusing(waiting)
        endStaged(waiting)
        keepCount(waiting)
        scheduleStaged(waiting)
    }

    /// What is stored counts from the start of this agent, and a new one from when it was stored.
    private mutating func reviewEnds(_ waiting: [StagedPassword]) {
        let limited = waiting.filter { $0.remaining != nil }
        staged.ends = staged.ends.filter { end in limited.contains { $0.id == end.key } }
        for entry in limited where staged.ends[entry.id] == nil {
            staged.ends[entry.id] = entry.remaining.map { now.instant + .seconds(Int64($0)) }
        }
    }

    /// For how many seconds those with an end wait yet.
    var stagedCount: [String: UInt32] {
        staged.ends.mapValues { UInt32(clamping: ($0 - now.instant).milliseconds / 1000) }
    }

    /// When one is given up, by the clock of the day.
    func until(_ entry: StagedPassword, at now: ClockReading) -> Timestamp? {
        guard let remaining = entry.remaining else { return nil }
        let left = staged.ends[entry.id].map { ($0 - now.instant).milliseconds } ?? Int64(remaining) * 1000
        return Timestamp(seconds: UInt32(clamping: (now.time.millisecondsSince1970 + left + 500) / 1000))
    }

    /// Has the time that has passed written now and then, so that a device that is switched off counts on.
    private mutating func keepCount(_ waiting: [StagedPassword]) {
        guard !memory.isWriting, staged.nextCount.map({ $0 <= now.instant }) ?? true,
            waiting.contains(where: { entry in countMoment(of: entry).map { $0 <= now.instant } ?? false })
        else { return }
        staged.nextCount = now.instant + StagedDesk.patience
        writeJournal()
    }

    /// When so much has passed that it is worth a write.
    private func countMoment(of entry: StagedPassword) -> Instant? {
        guard let end = staged.ends[entry.id], let remaining = entry.remaining else { return nil }
        let step = StagedPassword.countStep(at: remaining)
        guard remaining > step else { return nil }
        return end - .seconds(Int64(remaining - step))
    }

    /// The network whose old password is refused is looked for by the newer one, as the one that the device belongs in.
    private mutating func reviewRefusing(_ waiting: [StagedPassword]) {
        let names = Set(waiting.map(\.ssid))
        let refusing = policy.networks.filter {
            names.contains($0.ssid) && policy.lastFailure(of: $0.id) == .wrongKey
        }
        let new = Set(refusing.map(\.id))
        guard new != staged.refusing else { return }
        staged.refusing = new
        publishNetworks()
    }

    private mutating func endStaged(_ waiting: [StagedPassword]) {
        // A commanded switch has its own end.
        guard !staged.isWriting, switches.ledger.current == nil, staged.retry.map({ $0 <= now.instant }) ?? true
        else { return }
        let proven = waiting.first { entry in
            guard case .online(let link) = policy.phase, let network = book[link.network] else { return false }
            return state.stagedNetwork(of: entry.ssid)?.hasSameKey(as: network) ?? false
        }
        if let proven {
            staged.isWriting = true
            commit(.stagedEnded(proven.id, .committed), for: .staged(nil))
        } else if let late = waiting.first(where: { entry in staged.ends[entry.id].map { $0 <= now.instant } ?? false })
        {
            staged.isWriting = true
            commit(.stagedEnded(late.id, .expired), for: .staged(nil))
        }
    }

    private mutating func scheduleStaged(_ waiting: [StagedPassword]) {
        let count = waiting.compactMap(countMoment).min().map { max($0, staged.nextCount ?? $0) }
        let moments = [staged.ends.values.min(), staged.retry, count]
        let wake = moments.compactMap(\.self).filter { $0 > now.instant }.min()
        guard wake != staged.wake else { return }
        staged.wake = wake
        wait(.staged, until: wake, leeway: .seconds(1))
    }

    mutating func stagedCommitted(_ request: RequestID?, before: StoredState) {
        if request == nil { (staged.isWriting, staged.retry) = (false, nil) }
        tellEnds(before: before)
        publishNetworks()
        let list = backupList(at: now)
        if state.staged != before.staged, state.backupsRevision == before.backupsRevision {
            order(.publish(.backupsChanged(list)))
        }
        if let request { order(.answer(request, .success(.backups(list)))) }
    }

    mutating func stagedRefused(_ request: RequestID?, _ error: ProtocolError) {
        if let request { return order(.answer(request, .failure(error))) }
        staged.isWriting = false
        staged.retry = now.instant + StagedDesk.patience
        say(.error, "what became of a newer password could not be stored, which is tried again: \(error)")
    }

    private mutating func tellEnds(before: StoredState) {
        for entry in state.staged where entry.phase != .staged {
            guard before.staged.contains(where: { $0.id == entry.id && $0.phase == .staged }) else { continue }
            let text =
                switch entry.phase {
                case .committed: "\(entry.ssid): the newer password is right, and has taken the old one's place"
                case .expired: "\(entry.ssid): the newer password was given up, for its time is over"
                case .dropped, .staged: "\(entry.ssid): the newer password was taken back"
                }
            say(.notice, text)
            let decision = notes.history.append(
                kind: Decision.Kind(rawValue: "password"),
                reason: ReasonCode(rawValue: StagedPasswordStatus.Phase(entry.phase).rawValue), text: text, at: now)
            order(.publish(.decision(decision)))
        }
    }
}

extension StoredState {
    /// Whether a network is stored that may have this password.
    private func check(_ password: NewPassword) throws(ProtocolError) {
        let networks = ([home, chosen].compactMap(\.self) + backups).filter { $0.ssid == password.ssid }
        guard !networks.isEmpty else {
            throw ProtocolError(.unknownNetwork, "\(password.ssid) is not stored").about("body.ssid")
        }
        for network in networks {
            guard case .passphrase = network.credential else {
                throw ProtocolError(.unsupported, "\(password.ssid) is stored without a password").about("body.ssid")
            }
            do {
                try Passphrase.validate(password.key.passphrase, for: network.floor.contains(.sae) ? .wpa3 : nil)
            } catch {
                throw ProtocolError(.invalidPassword, "\(error)").about("body.password")
            }
        }
    }

    /// Keeps a newer password beside a network's own, or throws and leaves everything as it is. What comes again stays as it
    /// is.
    /// - Parameter now: in seconds since 1970.
    mutating func stage(_ password: NewPassword, at now: UInt32) throws(ProtocolError) {
        if let known = staged.first(where: { $0.id == password.changeID }) {
            guard known.ssid == password.ssid, known.key.map({ $0 == password.key }) ?? true else {
                throw ProtocolError(.malformed, "this name was given to another password").about("body.changeId")
            }
            return
        }
        try check(password)
        let entry = StagedPassword(
            id: password.changeID, ssid: password.ssid, key: password.key, since: now,
            keepFor: password.keepFor.map { UInt32(clamping: $0) })
        guard stage(entry) else {
            throw ProtocolError(
                .tooManyNetworks, "passwords of \(Self.maximumStaged) networks are staged: drop one first",
                details: ["max": .number(Self.maximumStaged)])
        }
    }
}

extension StagedPasswordStatus {
    init(_ entry: StagedPassword, in state: StoredState, localKey: Secret, until: Timestamp?) {
        let network = entry.phase == .staged ? state.stagedNetwork(of: entry.ssid) : nil
        self.init(
            changeId: entry.id, ssid: entry.ssid, phase: Phase(entry.phase),
            hash: network?.hash(localKey: localKey), since: Timestamp(seconds: entry.since),
            until: until)
    }
}

extension StagedPasswordStatus.Phase {
    fileprivate init(_ phase: StagedPassword.Phase) {
        self =
            switch phase {
            case .staged: .staged
            case .committed: .committed
            case .dropped: .dropped
            case .expired: .expired
            }
    }
}

extension Timestamp {
    fileprivate init(seconds: UInt32) { self.init(millisecondsSince1970: Int64(seconds) * 1000) }
}
