import AgentModel
import AppProtocol
import Failover
import KeyFile

/// New password of a stored network from an app, with its derived key.
package struct NewPassword: Sendable, Equatable {
    let changeID: String
    let ssid: SSID
    let key: StagedPassword.Key
    /// Seconds to keep the password; nil for no limit.
    let keepFor: Int?

    package init(changeID: String, ssid: SSID, key: StagedPassword.Key, keepFor: Int?) {
        (self.changeID, self.ssid, self.key, self.keepFor) = (changeID, ssid, key, keepFor)
    }
}

/// State of password changes, kept in memory only.
struct PasswordRotation: Sendable {
    /// Networks that refused their stored password while a newer one is staged.
    var refusing: Set<NetworkID> = []
    var isWriting = false
    /// Expiry by change ID. Passwords without a limit have no entry.
    var ends: [String: Instant] = [:]
    /// Earliest time of the next attempt after a failed write.
    var retry: Instant?
    /// Earliest time of the next write of the remaining times.
    var nextCount: Instant?
    var wake: Instant?

    static let patience = Duration.seconds(60)
}

extension AgentCore {
    mutating func dropPassword(_ changeID: String, _ id: RequestID) throws(ProtocolError) {
        guard state.staged.contains(where: { $0.id == changeID }) else {
            throw ProtocolError(.unknownNetwork, "no staged password has this change ID").about("body.changeId")
        }
        commit(.stagedEnded(changeID, .dropped), for: .staged(id))
    }

    /// Checks after every event if a staged password has been verified or has expired.
    mutating func reviewStaged() {
        let waiting = state.staged.filter { $0.phase == .staged }
        guard !waiting.isEmpty || !rotation.refusing.isEmpty || rotation.wake != nil else { return }
        reviewEnds(waiting)
        reviewRefusing(waiting)
        endStaged(waiting)
        keepCount(waiting)
        scheduleStaged(waiting)
    }

    /// Starts the countdown of each password when it is stored, or when the agent starts.
    private mutating func reviewEnds(_ waiting: [StagedPassword]) {
        let limited = waiting.filter { $0.remaining != nil }
        rotation.ends = rotation.ends.filter { end in limited.contains { $0.id == end.key } }
        for entry in limited where rotation.ends[entry.id] == nil {
            rotation.ends[entry.id] = entry.remaining.map { now.instant + .seconds(Int64($0)) }
        }
    }

    /// Seconds until each staged password expires, by change ID.
    var stagedCount: [String: UInt32] {
        rotation.ends.mapValues { UInt32(clamping: ($0 - now.instant).milliseconds / 1000) }
    }

    /// Expiry of a staged password in wall clock time.
    func until(_ entry: StagedPassword, at now: ClockReading) -> Timestamp? {
        guard let remaining = entry.remaining else { return nil }
        let left = rotation.ends[entry.id].map { ($0 - now.instant).milliseconds } ?? Int64(remaining) * 1000
        return Timestamp(seconds: UInt32(clamping: (now.time.millisecondsSince1970 + left + 500) / 1000))
    }

    /// Writes the remaining times at intervals, so that they survive a restart.
    private mutating func keepCount(_ waiting: [StagedPassword]) {
        guard !learned.isWriting, rotation.nextCount.map({ $0 <= now.instant }) ?? true,
            waiting.contains(where: { entry in countMoment(of: entry).map { $0 <= now.instant } ?? false })
        else { return }
        rotation.nextCount = now.instant + PasswordRotation.patience
        writeStatistics()
    }

    /// Time at which the remaining time of a password has changed enough for a write.
    private func countMoment(of entry: StagedPassword) -> Instant? {
        guard let end = rotation.ends[entry.id], let remaining = entry.remaining else { return nil }
        let step = StagedPassword.countStep(at: remaining)
        guard remaining > step else { return nil }
        return end - .seconds(Int64(remaining - step))
    }

    /// Prefers the staged password in a network that refuses the old one.
    private mutating func reviewRefusing(_ waiting: [StagedPassword]) {
        let names = Set(waiting.map(\.ssid))
        let refusing = policy.networks.filter {
            names.contains($0.ssid) && policy.lastFailure(of: $0.id) == .wrongKey
        }
        let new = Set(refusing.map(\.id))
        guard new != rotation.refusing else { return }
        rotation.refusing = new
        publishNetworks()
    }

    private mutating func endStaged(_ waiting: [StagedPassword]) {
        // During a commanded switch, its outcome ends the staged password.
        guard !rotation.isWriting, switches.ledger.current == nil, rotation.retry.map({ $0 <= now.instant }) ?? true
        else { return }
        let proven = waiting.first { entry in
            guard case .online(let link) = policy.phase, let network = registry[link.network] else { return false }
            return state.stagedNetwork(of: entry.ssid)?.hasSameKey(as: network) ?? false
        }
        if let proven {
            rotation.isWriting = true
            commit(.stagedEnded(proven.id, .committed), for: .staged(nil))
        } else if let late = waiting.first(where: { entry in rotation.ends[entry.id].map { $0 <= now.instant } ?? false
        }) {
            rotation.isWriting = true
            commit(.stagedEnded(late.id, .expired), for: .staged(nil))
        }
    }

    private mutating func scheduleStaged(_ waiting: [StagedPassword]) {
        let count = waiting.compactMap(countMoment).min().map { max($0, rotation.nextCount ?? $0) }
        let moments = [rotation.ends.values.min(), rotation.retry, count]
        let wake = moments.compactMap(\.self).filter { $0 > now.instant }.min()
        guard wake != rotation.wake else { return }
        rotation.wake = wake
        wait(.staged, until: wake, leeway: .seconds(1))
    }

    mutating func stagedCommitted(_ request: RequestID?, before: StoredState) {
        if request == nil { (rotation.isWriting, rotation.retry) = (false, nil) }
        reportEnds(before: before)
        publishNetworks()
        let list = backupList(at: now)
        if state.staged != before.staged, state.backupsRevision == before.backupsRevision {
            emit(.publish(.backupsChanged(list)))
        }
        if let request { emit(.answer(request, .success(.backups(list)))) }
    }

    mutating func stagedRefused(_ request: RequestID?, _ error: ProtocolError) {
        if let request { return emit(.answer(request, .failure(error))) }
        rotation.isWriting = false
        rotation.retry = now.instant + PasswordRotation.patience
        log(.error, "cannot store the outcome of a password change, retrying: \(error)")
    }

    private mutating func reportEnds(before: StoredState) {
        for entry in state.staged where entry.phase != .staged {
            guard before.staged.contains(where: { $0.id == entry.id && $0.phase == .staged }) else { continue }
            let text =
                switch entry.phase {
                case .committed: "\(entry.ssid): the new password works and has replaced the old one"
                case .expired: "\(entry.ssid): the new password has expired"
                case .dropped, .staged: "\(entry.ssid): the new password was withdrawn"
                }
            log(.notice, text)
            let decision = lastPublished.history.append(
                kind: Decision.Kind(rawValue: "password"),
                reason: ReasonCode(rawValue: StagedPasswordStatus.Phase(entry.phase).rawValue), text: text, at: now)
            emit(.publish(.decision(decision)))
        }
    }
}

extension StoredState {
    /// Throws `ProtocolError` unless a stored network can use this password.
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
                try Passphrase.validate(
                    password.key.passphrase, for: network.minimumSecurity.contains(.sae) ? .wpa3 : nil)
            } catch {
                throw ProtocolError(.invalidPassword, "\(error)").about("body.password")
            }
        }
    }

    /// Stages a new password. A repeated call has no effect.
    /// - Parameter now: Seconds since 1970.
    /// - Throws: `ProtocolError`, with the state unchanged.
    mutating func stage(_ password: NewPassword, at now: UInt32) throws(ProtocolError) {
        if let known = staged.first(where: { $0.id == password.changeID }) {
            guard known.ssid == password.ssid, known.key.map({ $0 == password.key }) ?? true else {
                throw ProtocolError(.malformed, "this change ID is already used for a different password")
                    .about("body.changeId")
            }
            return
        }
        try check(password)
        let entry = StagedPassword(
            id: password.changeID, ssid: password.ssid, key: password.key, since: now,
            keepFor: password.keepFor.map { UInt32(clamping: $0) })
        guard stage(entry) else {
            throw ProtocolError(
                .tooManyNetworks, "\(Self.maximumStaged) networks already have a staged password: drop one first",
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
