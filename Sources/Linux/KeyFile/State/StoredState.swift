import AgentModel

/// A network that the device can join, as the key file keeps it.
public struct StoredNetwork: Sendable, Equatable {
    public var ssid: SSID
    public var credential: JoinRequest.Credential
    /// How the network authenticates its stations, as far as is known: as the app said, or as the last join has shown.
    public var security: Security?
    /// The least that a link to it must have by its owner's word. `NetworkStatistics.learnedFloor` may ask for more.
    public var floor: LinkProtection
    /// The access point does not beacon its name, so it must be asked by name.
    public var isHidden: Bool
    /// The address that the owner has given the device in it; nil where a server gives it one.
    public var staticAddress: StaticAddress?

    public init(
        ssid: SSID, credential: JoinRequest.Credential, security: Security? = nil, floor: LinkProtection = [],
        isHidden: Bool = false, staticAddress: StaticAddress? = nil
    ) {
        self.ssid = ssid
        self.credential = credential
        self.security = security
        self.floor = floor
        self.isHidden = isHidden
        self.staticAddress = staticAddress
    }
}

/// Observations of a network: worth keeping over a restart, not worth a write of its own.
public struct NetworkStatistics: Sendable, Equatable {
    /// In seconds since 1970.
    public var lastSeen: UInt32?
    /// The signal at that time, in dBm.
    public var lastSignal: Int8?
    /// Its channel then: the first place to look.
    public var lastFrequency: Frequency?
    /// Why the last attempt to join it failed, nil once one succeeded.
    public var lastFailure: JoinFailure?
    /// The access points that have completed a handshake with the network's key, the latest first: at most
    /// `maximumAccessPoints`, a commit drops the rest.
    public var provenAccessPoints: [BSSID]
    /// The address that its server has last given the device. A commit keeps those of the first eight networks.
    public var lease: StoredLease?
    /// Its losses by hour of the day. A commit keeps those of the networks that the device may belong in.
    public var losses: StoredLosses?
    /// The protection that its links have had; nil where none speaks for a floor. A commit keeps those of the first
    /// five networks.
    public var learnedFloor: LearnedFloor?

    public static let maximumAccessPoints = 4

    public init(
        lastSeen: UInt32? = nil, lastSignal: Int8? = nil, lastFrequency: Frequency? = nil,
        lastFailure: JoinFailure? = nil, provenAccessPoints: [BSSID] = [], lease: StoredLease? = nil,
        losses: StoredLosses? = nil, learnedFloor: LearnedFloor? = nil
    ) {
        self.lastSeen = lastSeen
        self.lastSignal = lastSignal
        self.lastFrequency = lastFrequency
        self.lastFailure = lastFailure
        self.provenAccessPoints = provenAccessPoints
        self.lease = lease
        self.losses = losses
        self.learnedFloor = learnedFloor
    }
}

/// A commanded switch that was accepted and has not ended yet. Found at start, it was cut short: the device belongs
/// back in the network it came from.
public struct PendingSwitch: Sendable, Equatable {
    /// The identifier by which the app asks for the outcome: at most 64 bytes of UTF-8.
    public var id: String
    /// Nil for a network that is joined for this once: what is to be forgotten is not stored in the first place.
    public var target: StoredNetwork?
    /// The network that the device was in, or nil if it was in none.
    public var cameFrom: SSID?

    public init(id: String, target: StoredNetwork?, cameFrom: SSID?) {
        self.id = id
        self.target = target
        self.cameFrom = cameFrom
    }
}

/// Everything that the key file keeps. It is always replaced as a whole: a commit is all of it or none.
public struct StoredState: Sendable, Equatable {
    /// The network that the device was provisioned with.
    public var home: StoredNetwork?
    /// The network that the device was last sent to by command, where that is not `home`: the one that it belongs in.
    /// It may be in the list too.
    public var chosen: StoredNetwork?
    /// The network that the device was last in, and the one before.
    public var current: StoredNetwork?
    public var previous: StoredNetwork?
    /// In the app's order. No two have one SSID.
    public var backups: [StoredNetwork]
    /// Grows by one with every change of `backups`, so that two apps cannot undo each other unseen.
    public var backupsRevision: UInt64
    public var pendingSwitch: PendingSwitch?
    /// By SSID, of the networks that are stored; what is known of others is dropped by a commit.
    public var statistics: [SSID: NetworkStatistics]
    /// The last number that was accepted of each sender that numbers its messages, by a name of 1 to 32 bytes. At most
    /// 8, and none can go back.
    public var replayCounters: [String: UInt64]
    /// Newer passwords of stored networks, the latest last: at most ``maximumStaged``, and one that waits for each name.
    public package(set) var staged: [StagedPassword] = []
    /// Cells of a newer altnet, of the kinds in `CellID.keptKinds`: they stay as they are.
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

    /// Every network that is in it, some of them more than once.
    var networks: [StoredNetwork] {
        [home, chosen, current, previous].compactMap(\.self) + backups + [pendingSwitch?.target].compactMap(\.self)
    }

    /// Changes each copy that there is of a network.
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
    /// The bytes that a switch's identifier may have in UTF-8.
    static let identifierLength = 0...64
    /// The bytes of a derived pre-shared key (IEEE 802.11-2020, annex J.4.1).
    static let pskLength = 32
    /// The bytes that the name of a sender's counter may have in UTF-8.
    static let counterNameLength = 1...32
    static let maximumCounters = 8

    /// Checks what must be true of any state, whatever the settings.
    func validate() throws(KeyFileError) {
        var seen: Set<SSID> = []
        for backup in backups where !seen.insert(backup.ssid).inserted { throw .duplicateBackup(backup.ssid) }
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

    /// Checks also what must be true of a state that follows `old`. A counter may go, together with its sender, but not
    /// back.
    func validate(replacing old: StoredState) throws(KeyFileError) {
        try validate()
        let back = old.replayCounters.filter { name, last in replayCounters[name].map { $0 < last } ?? false }
        if let name = back.keys.min() { throw .counterWouldGoBack(name: name) }
    }
}

extension StoredNetwork {
    fileprivate func validate() throws(KeyFileError) {
        guard case .passphrase(let passphrase, let psk) = credential else { return }
        // What only SAE takes goes with a floor that has SAE: no link of less would ever be made with it.
        let security: Security? = floor.contains(.sae) ? .wpa3 : nil
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
