import AgentModel

public struct StoredNetwork: Sendable, Equatable {
    public var ssid: SSID
    public var credential: JoinRequest.Credential
    /// Known authentication method, from the app or the last join.
    public var security: Security?
    /// Minimum protection of a link, set by the owner. `NetworkStatistics.learnedMinimumSecurity` may require more.
    public var minimumSecurity: LinkProtection
    /// True if the access point does not beacon its SSID, so scans must name it.
    public var isHidden: Bool
    /// Static address set by the owner; nil for DHCP.
    public var staticAddress: StaticAddress?
    /// Options set by the owner.
    public var options: NetworkOptions

    public init(
        ssid: SSID, credential: JoinRequest.Credential, security: Security? = nil, minimumSecurity: LinkProtection = [],
        isHidden: Bool = false, staticAddress: StaticAddress? = nil, options: NetworkOptions = .init()
    ) {
        self.ssid = ssid
        self.credential = credential
        self.security = security
        self.minimumSecurity = minimumSecurity
        self.isHidden = isHidden
        self.staticAddress = staticAddress
        self.options = options
    }
}

/// Observations of a network, stored with the next commit.
public struct NetworkStatistics: Sendable, Equatable {
    /// Time of the last scan with the network, in seconds since 1970.
    public var lastSeen: UInt32?
    /// Signal at `lastSeen`, in dBm.
    public var lastSignal: Int8?
    /// Frequency at `lastSeen`, scanned first.
    public var lastFrequency: Frequency?
    /// Failure of the last join; nil after success.
    public var lastFailure: JoinFailure?
    /// Access points that completed a handshake with the network's key, latest first. At most `maximumAccessPoints`; a
    /// commit drops the rest.
    public var verifiedAccessPoints: [BSSID]
    /// Last lease. A commit keeps the leases of the first eight networks.
    public var lease: StoredLease?
    /// Learned minimum security; nil without observations. A commit keeps those of the first five networks.
    public var learnedMinimumSecurity: LearnedMinimumSecurity?

    public static let maximumAccessPoints = 4

    public init(
        lastSeen: UInt32? = nil, lastSignal: Int8? = nil, lastFrequency: Frequency? = nil,
        lastFailure: JoinFailure? = nil, verifiedAccessPoints: [BSSID] = [], lease: StoredLease? = nil,
        learnedMinimumSecurity: LearnedMinimumSecurity? = nil
    ) {
        self.lastSeen = lastSeen
        self.lastSignal = lastSignal
        self.lastFrequency = lastFrequency
        self.lastFailure = lastFailure
        self.verifiedAccessPoints = verifiedAccessPoints
        self.lease = lease
        self.learnedMinimumSecurity = learnedMinimumSecurity
    }
}

/// An accepted switch that has not ended. A switch found at the agent's start was interrupted, so the device must
/// return to its former network.
public struct PendingSwitch: Sendable, Equatable {
    /// Identifier for the app's query of the outcome: at most 64 bytes of UTF-8.
    public var id: String
    /// Network to switch to; nil for an ephemeral network, which is not stored.
    public var target: StoredNetwork?
    /// Former network; nil if there was none.
    public var cameFrom: SSID?

    public init(id: String, target: StoredNetwork?, cameFrom: SSID?) {
        self.id = id
        self.target = target
        self.cameFrom = cameFrom
    }
}

/// Content of the key file. A commit replaces all of it or nothing.
public struct StoredState: Sendable, Equatable {
    /// Home network, set at provisioning or by an app.
    public var home: StoredNetwork?
    /// Network of the last commanded switch, if not `home`: the device belongs there. It may be a backup too.
    public var chosen: StoredNetwork?
    /// Network joined last.
    public var current: StoredNetwork?
    /// Network joined before `current`.
    public var previous: StoredNetwork?
    /// Backups in the app's order. Two of them may have one SSID, with different passwords.
    public var backups: [StoredNetwork]
    /// Number that increases by one with each change of `backups`, so that two apps do not overwrite each other's
    /// change.
    public var backupsRevision: UInt64
    public var pendingSwitch: PendingSwitch?
    /// Statistics of stored networks by SSID. A commit drops those of other networks.
    public var statistics: [SSID: NetworkStatistics]
    /// Last accepted message number by sender. Names have 1 to 32 bytes; at most 8 senders. Numbers never decrease.
    public var replayCounters: [String: UInt64]
    /// Staged passwords, latest last: at most ``maximumStaged``, one pending for each SSID.
    public package(set) var staged: [StagedPassword] = []
    /// Cells of a newer altnet, kinds `CellID.keptKinds`, kept unchanged.
    package var kept: Cells = [:]

    public init(
        home: StoredNetwork? = nil, chosen: StoredNetwork? = nil, current: StoredNetwork? = nil,
        previous: StoredNetwork? = nil, backups: [StoredNetwork] = [], backupsRevision: UInt64 = 0,
        pendingSwitch: PendingSwitch? = nil, statistics: [SSID: NetworkStatistics] = [:],
        replayCounters: [String: UInt64] = [:]
    ) {
        self.home = home
        self.chosen = chosen
        self.current = current
        self.previous = previous
        self.backups = backups
        self.backupsRevision = backupsRevision
        self.pendingSwitch = pendingSwitch
        self.statistics = statistics
        self.replayCounters = replayCounters
    }

    /// All networks in the state; some occur more than once.
    var networks: [StoredNetwork] {
        [home, chosen, current, previous].compactMap(\.self) + backups + [pendingSwitch?.target].compactMap(\.self)
    }

    /// Applies `change` to every copy of each network.
    package mutating func changeNetworks(_ change: (inout StoredNetwork) -> Void) {
        func changed(_ network: StoredNetwork?) -> StoredNetwork? {
            guard var network else { return nil }
            change(&network)
            return network
        }
        (home, chosen, current, previous) = (changed(home), changed(chosen), changed(current), changed(previous))
        for index in backups.indices { change(&backups[index]) }
        if let target = pendingSwitch?.target { pendingSwitch?.target = changed(target) }
    }
}

extension StoredState {
    /// Length of a switch's identifier in UTF-8 bytes.
    static let identifierLength = 0...64
    /// Length of a derived pre-shared key in bytes (IEEE 802.11-2020, annex J.4.1).
    static let pskLength = 32
    /// Length of a counter's name in UTF-8 bytes.
    static let counterNameLength = 1...32
    static let maximumCounters = 8

    /// Checks the invariants of a state, whatever the previous state was.
    /// - Throws: the first violation.
    func validate() throws(KeyFileError) {
        for (index, backup) in backups.enumerated() where backups[..<index].contains(where: backup.hasSameKey) {
            throw .duplicateBackup(backup.ssid)
        }
        for network in networks { try network.validate() }
        if let count = pendingSwitch?.id.utf8.count, !Self.identifierLength.contains(count) {
            throw .switchIdentifierTooLong(bytes: count)
        }
        for entry in staged { try entry.validate() }
        guard replayCounters.count <= Self.maximumCounters else {
            throw .tooManyCounters(count: replayCounters.count, maximum: Self.maximumCounters)
        }
        guard replayCounters.keys.allSatisfy({ Self.counterNameLength.contains($0.utf8.count) }) else {
            throw .invalidCounterName
        }
    }

    /// Also checks the invariants of a change from `old`: counters may be removed but not decrease.
    func validate(replacing old: StoredState) throws(KeyFileError) {
        try validate()
        let back = old.replayCounters.filter { name, last in replayCounters[name].map { $0 < last } ?? false }
        if let name = back.keys.min() { throw .counterWouldGoBack(name: name) }
    }
}

extension StoredNetwork {
    /// Whether name and password match.
    package func hasSameKey(as other: StoredNetwork) -> Bool { ssid == other.ssid && credential == other.credential }

    fileprivate func validate() throws(KeyFileError) {
        guard case .passphrase(let passphrase, let psk) = credential else { return }
        // If only SAE links are allowed, accept a passphrase that is valid for SAE only.
        let security: Security? = minimumSecurity.contains(.sae) ? .wpa3 : nil
        do { try Passphrase.validate(passphrase, for: security) } catch { throw .invalidPassphrase(ssid, error) }
        guard psk.count == StoredState.pskLength else { throw .invalidKey(ssid, bytes: psk.count) }
    }
}

extension StagedPassword {
    fileprivate func validate() throws(KeyFileError) {
        guard StoredState.stagedIdentifierLength.contains(id.utf8.count) else {
            throw .switchIdentifierTooLong(bytes: id.utf8.count)
        }
        guard let key else { return }
        guard key.psk.count == StoredState.pskLength else { throw .invalidKey(ssid, bytes: key.psk.count) }
    }
}
