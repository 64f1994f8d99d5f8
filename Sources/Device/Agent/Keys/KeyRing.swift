import AgentModel
import AppProtocol
import AppServer
import Linux
import Synchronization

/// Keys that give access to the device: the owner's key, keys of apps, and open invitations.
///
/// Changes are written in their order on the disk loop, and take effect afterwards. Invitations exist only in memory:
/// a restart ends them.
package actor KeyRing: AppKeyDirectory {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { DiskLoop.sharedUnownedExecutor }

    private struct Invitation: Sendable {
        let name: KeyName
        let isNamed: Bool
        let role: Role
        let secret: Secret
        let lifetime: Int?
        let end: Instant
    }

    private struct State: Sendable {
        var list: AppKeyList
        var invitations: [Invitation] = []
        var proved = ProvedCommands()
    }

    struct Clock: Sendable {
        var now: @Sendable () -> Instant = { .now }
        /// Returns the time; nil while the device does not know it.
        var time: @Sendable () -> Timestamp?
    }

    private let identity: DeviceIdentity
    private let file: AppKeyFile
    private let clock: Clock
    private let state: Mutex<State>
    private let server = Mutex<(sessions: @Sendable () -> [KeyName: Int], end: @Sendable (KeyName) -> Void)?>(nil)

    /// Reads the stored keys.
    /// - Parameters:
    ///   - time: returns the time of day; nil while the device does not know it.
    ///   - problem: called if the keys cannot be read. Then there are no app keys.
    package init(
        _ identity: DeviceIdentity, in directory: String,
        time: @escaping @Sendable () -> Timestamp? = { ClockKnowledge.read().isKnown ? .now : nil },
        problem: @Sendable (String) -> Void
    ) {
        let file = AppKeyFile(directory: directory)
        var list = AppKeyList()
        do { list = try file.read() } catch { problem("\(error)") }
        self.init(identity, file: file, list: list, clock: Clock(time: time))
    }

    init(_ identity: DeviceIdentity, file: AppKeyFile, list: AppKeyList, clock: Clock) {
        (self.identity, self.file, self.clock) = (identity, file, clock)
        state = Mutex(State(list: list))
    }

    /// Sets the functions that count the sessions of each key and end those of one key.
    package nonisolated func attach(
        sessions: @escaping @Sendable () -> [KeyName: Int], end: @escaping @Sendable (KeyName) -> Void
    ) {
        server.withLock { $0 = (sessions, end) }
    }

    // MARK: Looking up

    package nonisolated func key(named name: KeyName) -> AppKey? {
        if name == .owner { return AppKey(name: .owner, secret: identity.localKey, role: .manage) }
        let now = clock.now()
        let (entry, invitation) = state.withLock { state in
            (state.list[name], state.invitations.first { $0.name == name && now < $0.end })
        }
        if let invitation {
            return AppKey(name: name, secret: invitation.secret, role: invitation.role, isInvitation: true)
        }
        guard let entry else { return nil }
        // Read the clock only for a key that expires.
        let state = entry.state(at: entry.expires == nil ? nil : clock.time())
        return AppKey(name: name, secret: entry.secret, role: entry.role, state: state)
    }

    package nonisolated var report: AppKeyReport {
        let now = clock.now()
        let (list, invitations) = state.withLock { ($0.list, $0.invitations) }
        let sessions = server.withLock { $0?.sessions }?() ?? [:]
        let owner = AppKeyStatus(name: .owner, role: .manage, sessions: sessions[.owner] ?? 0)
        let time = list.nextExpiry == nil ? nil : clock.time()
        let apps = list.entries.map { AppKeyStatus($0, state: $0.state(at: time), sessions[$0.name] ?? 0) }
        let invited = invitations.filter { now < $0.end }.map { invitation in
            AppKeyStatus(
                name: invitation.name, role: invitation.role, state: .invited, sessions: sessions[invitation.name] ?? 0,
                claimableFor: Int((invitation.end - now).components.seconds))
        }
        return AppKeyReport(keys: [owner] + apps + invited)
    }

    nonisolated var nextExpiry: Timestamp? { state.withLock { $0.list.nextExpiry } }

    /// Returns the sealing key, proved with the app's own key. A proof with another app's key would allow guessing
    /// short keys offline.
    /// - Throws: `proofRequired` if the app has proved no key, `notPermitted` for another app's key, `unknownKey` if
    ///   the app's own key has ended.
    package nonisolated func answer(
        _ query: SealingKeyQuery, from peer: Peer, _ seals: SealOpener
    ) throws(ProtocolError) -> SealingKey {
        guard query.nonce != nil else { return try seals.key(for: query, of: nil) }
        guard let own = peer.key else {
            throw ProtocolError(
                .proofRequired, "the device proves its key only to an app that has proved its own key")
        }
        guard query.key ?? own == own else {
            throw ProtocolError(
                .notPermitted, "the device proves its key only with the app's own key", details: ["field": "body.key"])
        }
        return try seals.key(for: query, of: key(named: own)?.secretIfValid)
    }

    // MARK: Relays

    /// Verifies a request that an app has proved with its key and that a relay delivers. Accepts each command once.
    /// - Returns: the request, and the app as a peer behind the relay.
    /// - Throws: `keyRefused`, `keyExpired`, `keyRevoked`, `notPermitted`; `malformed` if the request is expired, too
    ///   far ahead or repeated; `busy` if the time is unknown or too many commands are stored.
    package nonisolated func open(
        _ proved: ProvedRequest, from peer: Peer
    ) throws(ProtocolError) -> (Request.Body, Peer) {
        let key = key(named: proved.key)
        // An unknown name takes as long to check as a wrong key.
        let secret = key?.secret ?? identity.localKey
        let isProved = proved.isProved(by: secret, deviceId: identity.id)
        guard let key, isProved, !key.isInvitation else {
            throw ProtocolError(.keyRefused, "the device has no such key")
        }
        switch key.state {
        case .valid: break
        case .expired: throw ProtocolError(.keyExpired, "this key has expired")
        case .revoked: throw ProtocolError(.keyRevoked, "this key was revoked")
        }
        let (body, id, expires) = try proved.request()
        let author = peer.proved(by: key.name, of: key.role)
        // Check the permission first, so that an app cannot fill the memory with commands that it may not send.
        if let refusal = body.refusal(to: author) { throw refusal }
        guard let time = clock.time() else {
            throw ProtocolError(
                .busy,
                "the device cannot check the expiry because its clock is not set: wait until the device is online")
        }
        let use = ProvedCommands.Use(key: key.name, id: id)
        try state.withLock { state throws(ProtocolError) in
            try state.proved.check(use, until: expires, isCommand: body.type.isCommand, at: time)
        }
        return (body, author)
    }

    // MARK: Changes

    /// - Throws: `duplicateKey`, `tooManyKeys`, `storageFailed`; `unsupported` for an expiry while the time is unknown.
    package func add(_ request: KeyRequest) throws(ProtocolError) -> KeyHandout {
        let expires = try expiry(after: request.expiresIn)
        let (list, invitations) = openInvitations()
        try list.requirePlace(for: request.name, besides: Set(invitations.map(\.name)), invited: invitations.count)
        let secret = Secret(text: DeviceIdentity.randomDigits(32))
        guard let claimWithin = request.claimWithin else {
            guard let name = request.name else {
                throw ProtocolError(
                    .malformed, "a key needs a name, or a time in which it can be claimed (claimWithin)")
            }
            let entry = AppKeyList.Entry(
                name: name, role: request.role, secret: secret, created: clock.time(), expires: expires)
            try change { $0.add(entry) }
            return try handout(AppKeyStatus(entry), secret)
        }
        let name = request.name ?? KeyName("invitation-" + DeviceIdentity.randomDigits(4)) ?? .owner
        let invitation = Invitation(
            name: name, isNamed: request.name != nil, role: request.role, secret: secret, lifetime: request.expiresIn,
            end: clock.now() + .seconds(claimWithin))
        state.withLock { $0.invitations.append(invitation) }
        let status = AppKeyStatus(name: name, role: request.role, state: .invited, claimableFor: claimWithin)
        return try handout(status, secret, isInvitation: true)
    }

    /// Gives an invited app its own key and ends the invitation.
    /// - Throws: `notPermitted` without an invitation, `keyRefused` if the invitation has ended, and the errors of
    ///   `add`. An error does not end the invitation.
    package func claim(_ claim: KeyClaim, from peer: Peer) throws(ProtocolError) -> KeyHandout {
        guard peer.isInvited, let invited = peer.key else {
            throw ProtocolError(.notPermitted, "this key is not an invitation and cannot be claimed: use it as it is")
        }
        let (list, invitations) = openInvitations()
        guard let invitation = invitations.first(where: { $0.name == invited }) else {
            throw ProtocolError(.keyRefused, "the invitation has expired: ask the owner for another one")
        }
        guard let name = invitation.isNamed ? invitation.name : claim.name else {
            throw ProtocolError(
                .malformed, "this invitation has no name: send a name for the key", details: ["field": "body.name"])
        }
        let others = invitations.filter { $0.name != invited }
        try list.requirePlace(for: name, besides: Set(others.map(\.name)), invited: others.count)
        let secret = Secret(text: DeviceIdentity.randomDigits(32))
        let entry = AppKeyList.Entry(
            name: name, role: invitation.role, secret: secret, created: clock.time(),
            expires: try expiry(after: invitation.lifetime))
        try change { $0.add(entry) }
        state.withLock { $0.invitations.removeAll { $0.name == invited } }
        return try handout(AppKeyStatus(entry), secret)
    }

    /// Revokes a key or an invitation and ends its sessions.
    /// - Throws: `unknownKey`, `storageFailed`.
    package func revoke(_ name: KeyName) throws(ProtocolError) -> AppKeyReport {
        let isInvitation = openInvitations().open.contains { $0.name == name }
        if isInvitation {
            state.withLock { $0.invitations.removeAll { $0.name == name } }
        } else {
            var list = state.withLock { $0.list }
            try list.revoke(name)
            try change { $0 = list }
        }
        endSessions(of: name)
        return report
    }

    /// Ends expired keys and their sessions.
    /// - Returns: names of the keys that ended.
    package func expire() throws(ProtocolError) -> [KeyName] {
        var list = state.withLock { $0.list }
        let due = list.expire(at: clock.time())
        guard !due.isEmpty else { return [] }
        for name in due { endSessions(of: name) }
        try change { $0 = list }
        return due
    }

    private func endSessions(of name: KeyName) { server.withLock { $0?.end }?(name) }

    private func openInvitations() -> (list: AppKeyList, open: [Invitation]) {
        let now = clock.now()
        return state.withLock { state in
            state.invitations.removeAll { $0.end <= now }
            return (state.list, state.invitations)
        }
    }

    private func change(_ body: (inout AppKeyList) -> Void) throws(ProtocolError) {
        var list = state.withLock { $0.list }
        body(&list)
        try file.write(list)
        state.withLock { $0.list = list }
    }

    private func expiry(after seconds: Int?) throws(ProtocolError) -> Timestamp? {
        guard let seconds else { return nil }
        guard let time = clock.time() else {
            throw ProtocolError(
                .unsupported, "the device's clock is not set: omit expiresIn, or wait until it is online",
                details: ["field": "body.expiresIn"])
        }
        return Timestamp(millisecondsSince1970: time.millisecondsSince1970 + Int64(seconds) * 1000)
    }

    private func handout(
        _ status: AppKeyStatus, _ secret: Secret, isInvitation: Bool = false
    ) throws(ProtocolError) -> KeyHandout {
        let key = try DeviceKey(
            deviceId: identity.id, localKey: secret, name: status.name, certificate: identity.key.certificate)
        return KeyHandout(key: status, code: PairingCode(key, isInvitation: isInvitation))
    }
}

extension AppKeyStatus {
    init(_ entry: AppKeyList.Entry, state: AppKey.State = .valid, _ sessions: Int = 0) {
        self.init(
            name: entry.name, role: entry.role, created: entry.created, expires: entry.expires,
            state: State(state), sessions: sessions)
    }
}

extension AppKeyStatus.State {
    fileprivate init(_ state: AppKey.State) {
        self =
            switch state {
            case .valid: .valid
            case .expired: .expired
            case .revoked: .revoked
            }
    }
}

extension AppKey {
    fileprivate var secretIfValid: Secret? { state == .valid ? secret : nil }
}

extension SealOpener {
    /// Opens values that are sealed with a valid key of a sufficient role. The key of an invitation does not suffice.
    package convenience init(_ identity: DeviceIdentity, keys: KeyRing) {
        self.init(deviceId: identity.id) { name, place in
            keys.key(named: name).flatMap { $0.role >= place.role && !$0.isInvitation ? $0.secretIfValid : nil }
        }
    }
}

extension AppServer {
    /// Makes the key ring count and end the server's sessions.
    package func serve(_ keys: KeyRing) {
        // Weak references, because the server has the keys as well.
        keys.attach(
            sessions: { [weak self] in self?.sessions ?? [:] }, end: { [weak self] in self?.endSessions(of: $0) })
    }
}
