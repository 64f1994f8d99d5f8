import AgentModel

/// The stored backup networks: the answer to `backups.get` and `backups.update`, and the body of `backups.changed`.
public struct BackupList: Sendable, Equatable, Codable {
    /// How many the device stores at most.
    public let max: Int
    /// Grows with every change of the list.
    public let revision: Int
    public let networks: [BackupNetwork]

    public init(max: Int, revision: Int, networks: [BackupNetwork]) {
        self.max = max
        self.revision = revision
        self.networks = networks
    }
}

/// One stored network, without its password.
public struct BackupNetwork: Sendable, Equatable {
    public let ssid: SSID
    public let hash: NetworkHash
    /// As last seen in the air. Before that `open` for one stored without a password and `wpa2wpa3` for any other.
    public let security: Security
    public let isHidden: Bool
    public let lastSeen: Timestamp?
    /// The signal at that time in dBm.
    public let lastSignal: Int?
    /// Why the last attempt to join it failed, nil once one succeeded.
    public let lastFailure: JoinFailure?

    public init(
        ssid: SSID, hash: NetworkHash, security: Security, isHidden: Bool, lastSeen: Timestamp? = nil,
        lastSignal: Int? = nil, lastFailure: JoinFailure? = nil
    ) {
        self.ssid = ssid
        self.hash = hash
        self.security = security
        self.isHidden = isHidden
        self.lastSeen = lastSeen
        self.lastSignal = lastSignal
        self.lastFailure = lastFailure
    }
}

/// The list that replaces the stored one as a whole: the body of `backups.update`.
public struct BackupsUpdate: Sendable, Equatable {
    public let networks: [NetworkReference]
    /// The revision that the list must still have, or nil to replace it whatever it is.
    public let ifRevision: Int?

    public init(networks: [NetworkReference], ifRevision: Int? = nil) {
        self.networks = networks
        self.ifRevision = ifRevision
    }
}

/// A network named by the app.
public enum NetworkReference: Sendable, Equatable {
    /// One that the device has already, so that its password need not travel.
    case stored(NetworkHash)
    case new(NewNetwork)
}

/// A network that the device may not know yet.
public struct NewNetwork: Sendable, Equatable {
    public let ssid: SSID
    public let credential: NetworkCredential
    /// What the sender takes the network's security to be, nil if it does not say. What is seen in the air counts more.
    public let security: Security?
    /// The access point does not beacon its name.
    public let isHidden: Bool

    public init(ssid: SSID, credential: NetworkCredential, security: Security? = nil, isHidden: Bool = false) {
        self.ssid = ssid
        self.credential = credential
        self.security = security
        self.isHidden = isHidden
    }
}

extension NewNetwork {
    /// - Parameter password: nil for an open network.
    public init(ssid: SSID, password: Secret?, isHidden: Bool = false) {
        self.init(ssid: ssid, credential: password.map { .password($0) } ?? .none, isHidden: isHidden)
    }
}

/// What lets the device into a network.
public enum NetworkCredential: Sendable, Equatable {
    /// The network is open.
    case none
    /// As a passphrase it was checked when the message was read.
    case password(Secret)
    /// A password that only the device can read.
    case sealed(SealedPassword)
}
