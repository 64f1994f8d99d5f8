import AgentModel

/// A network that the device can join, as the key file keeps it.
public struct StoredNetwork: Sendable, Equatable {
    public var ssid: SSID
    public var credential: JoinRequest.Credential
    /// The access point does not beacon its name, so it must be asked by name.
    public var isHidden: Bool

    public init(ssid: SSID, credential: JoinRequest.Credential, isHidden: Bool = false) {
        self.ssid = ssid
        self.credential = credential
        self.isHidden = isHidden
    }
}

/// A commanded switch that was accepted and has not ended yet. Found at start, it was cut short: the device belongs back
/// in the network it came from.
public struct PendingSwitch: Sendable, Equatable {
    /// What the app asks for the outcome by: at most 64 bytes of UTF-8.
    public var id: String
    public var target: StoredNetwork
    /// The network that the device was in, or nil if it was in none.
    public var cameFrom: SSID?

    public init(id: String, target: StoredNetwork, cameFrom: SSID?) {
        self.id = id
        self.target = target
        self.cameFrom = cameFrom
    }
}

/// Everything that the key file keeps. It is always replaced as a whole: a commit is all of it or none.
public struct StoredState: Sendable, Equatable {
    /// The network that the device was provisioned with.
    public var home: StoredNetwork?
    /// A network joined by a commanded switch that is not in the list; it stands until the next such switch.
    public var chosen: StoredNetwork?
    /// In the app's order. No two have one SSID.
    public var backups: [StoredNetwork]
    /// Grows by one with every change of `backups`, so that two apps cannot undo each other unseen.
    public var backupsRevision: UInt64
    public var pendingSwitch: PendingSwitch?

    public init(
        home: StoredNetwork? = nil, chosen: StoredNetwork? = nil, backups: [StoredNetwork] = [],
        backupsRevision: UInt64 = 0, pendingSwitch: PendingSwitch? = nil
    ) {
        self.home = home
        self.chosen = chosen
        self.backups = backups
        self.backupsRevision = backupsRevision
        self.pendingSwitch = pendingSwitch
    }

    /// Every network that is in it.
    var networks: [StoredNetwork] {
        [home, chosen].compactMap(\.self) + backups + [pendingSwitch?.target].compactMap(\.self)
    }
}
