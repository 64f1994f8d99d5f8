import AgentModel
import AppProtocol

/// A backup network as app and device name it: what app SDKs call `BackupWifiModel`.
public struct BackupWifiModel: Sendable, Equatable {
    public let ssid: SSID
    /// `Base64(SHA256(localKey + ssid + password))`, by which both sides know the network with its password.
    public let hash: NetworkHash
    /// Only on its way to the device: what the device lists has none.
    let credential: NetworkCredential?
    let isHidden: Bool

    init(ssid: SSID, hash: NetworkHash, credential: NetworkCredential?, isHidden: Bool) {
        self.ssid = ssid
        self.hash = hash
        self.credential = credential
        self.isHidden = isHidden
    }

    init(_ stored: BackupNetwork) {
        self.init(ssid: stored.ssid, hash: stored.hash, credential: nil, isHidden: stored.isHidden)
    }

    /// The device has the password already, or gets it now.
    var reference: NetworkReference {
        guard let credential else { return .stored(hash) }
        return .new(NewNetwork(ssid: ssid, credential: credential, isHidden: isHidden))
    }

    /// Two models are the same network when they have the same hash: that the password is on its way does not matter.
    public static func == (left: Self, right: Self) -> Bool { left.hash == right.hash }
}

/// What the device has stored.
public struct BackupWifiNetworks: Sendable, Equatable {
    public let networks: [BackupWifiModel]
    /// How many the device stores at most.
    public let max: Int
    /// Grows with every change of the list: given to the update, it keeps two apps from undoing each other's changes.
    public let revision: Int

    init(_ list: BackupList) {
        networks = list.networks.map(BackupWifiModel.init)
        max = list.max
        revision = list.revision
    }
}
