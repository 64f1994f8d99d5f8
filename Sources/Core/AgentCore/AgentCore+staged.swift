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
    /// After a disk that refused one: not before that.
    var retry: Instant?
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
        reviewRefusing(waiting)
        endStaged(waiting)
        scheduleStaged(waiting)
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
        let seconds = now.seconds(of: now.instant)
        let proven = waiting.first { entry in
            guard case .online(let link) = policy.phase, let network = book[link.network] else { return false }
            return state.stagedNetwork(of: entry.ssid)?.hasSameKey(as: network) ?? false
        }
        if let proven {
            staged.isWriting = true
            commit(.stagedEnded(proven.id, .committed), for: .staged(nil))
        } else if let late = waiting.first(where: { $0.until.map { $0 <= seconds } ?? false }) {
            staged.isWriting = true
            commit(.stagedEnded(late.id, .expired), for: .staged(nil))
        }
    }

    private mutating func scheduleStaged(_ waiting: [StagedPassword]) {
        let seconds = now.seconds(of: now.instant)
        let next = waiting.compactMap(\.until).min().map { until in
            now.instant + .seconds(until > seconds ? Int64(until - seconds) : 0)
        }
        let wake = [next, staged.retry].compactMap(\.self).filter { $0 > now.instant }.min()
        // By the clock of the day it moves by less than a second at each event.
        guard (wake == nil) != (staged.wake == nil) || abs(apart(wake, staged.wake)) > 2 else { return }
        staged.wake = wake
        wait(.staged, until: wake, leeway: .seconds(1))
    }

    /// In seconds.
    private func apart(_ left: Instant?, _ right: Instant?) -> Int64 {
        guard let left, let right else { return 0 }
        return (left - right).components.seconds
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
        let until = password.keepFor.map { seconds in
            let (end, isTooFar) = now.addingReportingOverflow(UInt32(clamping: seconds))
            return isTooFar ? UInt32.max : end
        }
        let entry = StagedPassword(
            id: password.changeID, ssid: password.ssid, key: password.key, since: now, until: until)
        guard stage(entry) else {
            throw ProtocolError(
                .tooManyNetworks, "passwords of \(Self.maximumStaged) networks are staged: drop one first",
                details: ["max": .number(Self.maximumStaged)])
        }
    }
}

extension StagedPasswordStatus {
    init(_ entry: StagedPassword, in state: StoredState, localKey: Secret) {
        let network = entry.phase == .staged ? state.stagedNetwork(of: entry.ssid) : nil
        self.init(
            changeId: entry.id, ssid: entry.ssid, phase: Phase(entry.phase),
            hash: network?.hash(localKey: localKey), since: Timestamp(seconds: entry.since),
            until: entry.until.map { Timestamp(seconds: $0) })
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
