/// Version, default port and limits of the protocol.
public enum ProtocolLimits {
    /// The `v` of every line.
    public static let version = 1
    /// Default TCP port of a device.
    public static let port = 25_863
    /// Length of a device ID in bytes.
    public static let deviceIdLength = 1...64
    /// Length of a local key in bytes.
    public static let localKeyLength = 16...64
    /// Length of an app key's name in bytes of UTF-8.
    public static let keyNameLength = 1...64
    /// Maximum number of app keys in addition to the owner's.
    public static let appKeys = 32
    /// Lifetime of an app's key in seconds.
    public static let keyLifetime = 1...315_360_000
    /// Seconds allowed to claim an invitation.
    public static let claimWithin = 30...86_400
    /// Maximum bytes of a network connection's first line, sent before the client has proved a key.
    public static let openingLineLength = 1024
    /// Maximum bytes of WebSocket frames before the first line, control frames included.
    public static let openingFramesLength = 2048
    /// Maximum bytes of a line in either direction, without its line feed.
    public static let lineLength = 64 * 1024
    /// Maximum nesting of objects and lists, including the line's own object.
    public static let nesting = 32
    /// Maximum bytes of a request ID in UTF-8.
    public static let idLength = 64
    /// Length of a sealing key's name in bytes of UTF-8.
    public static let keyIdLength = 1...64
    /// Number of opened boxes after which the device changes its sealing key.
    public static let sealingKeyBoxes = 64
    /// Age in seconds at which the device changes its sealing key.
    public static let sealingKeyAge = 3600
    /// Seconds in which the previous sealing key still opens boxes.
    public static let sealingKeyGrace = 120
    /// Maximum time until the expiry of a proved request, in seconds.
    public static let provedRequestLife = 3600
    /// Maximum number of proved commands that are remembered until they expire.
    public static let provedCommands = 256
    /// Maximum number of remembered commands from one key.
    public static let provedCommandsOfKey = 64
    /// Maximum number of networks in an update.
    public static let updateEntries = 64
    /// Maximum number of SSIDs, and of frequencies, in one scan request.
    public static let scanTargets = 64
    /// Maximum number of hotspot providers that can claim a network.
    public static let providers = 16
    /// Length of a hotspot provider's name in bytes of UTF-8.
    public static let providerNameLength = 1...64
    /// Seconds allowed for the confirmation of a switch.
    public static let confirmWithin = 5...600
    /// Length of a change ID in bytes of UTF-8.
    public static let changeIdLength = 1...64
    /// Lifetime of a staged password in seconds.
    public static let keepFor = 60...31_536_000
    /// Number of decisions that one `history.get` may request.
    public static let historyDecisions = 1...200
    public static let defaultHistoryDecisions = 20
    /// Longest duration of `diagnosis.get` in seconds.
    public static let diagnosisSeconds = 15
    /// Maximum number of fields in a request to a user.
    public static let portalFields = 16
    /// Length of a field's name in a request to a user, in bytes of UTF-8.
    public static let portalNameLength = 1...128
    /// Maximum bytes of UTF-8 in a request's title, and in a field's label.
    public static let portalTitleLength = 200
    /// Maximum bytes of a message to the user in UTF-8.
    public static let portalMessageLength = 4000
    /// Maximum bytes of a field's value in UTF-8.
    public static let portalValueLength = 1024
    /// Maximum number of a device's own servers.
    public static let targets = 8
    /// Length of a server's name in bytes.
    public static let targetNameLength = 1...32
    /// Length of a server's URL in bytes.
    public static let targetURLLength = 1...320
    /// Maximum bytes of a portal's URL.
    public static let portalURLLength = 2048
}

/// The device's capabilities: answer to `capabilities.get`.
public struct Capabilities: Sendable, Equatable, Codable {
    public let supportsBackupNetworks: Bool
    public let attributes: DeviceAttributes
    public let maxBackupNetworks: Int
    /// Supported protocol versions.
    public let versions: [Int]
    public let deviceId: String
    /// Version of the agent.
    public let firmware: String
    /// Names of optional features, listed in Docs/reference/protocol.md.
    public let features: [String]

    public init(
        attributes: DeviceAttributes = .backupNetworks, maxBackupNetworks: Int,
        versions: [Int] = [ProtocolLimits.version], deviceId: String, firmware: String, features: [String]
    ) {
        supportsBackupNetworks = attributes.contains(.backupNetworks)
        self.attributes = attributes
        self.maxBackupNetworks = maxBackupNetworks
        self.versions = versions
        self.deviceId = deviceId
        self.firmware = firmware
        self.features = features
    }
}

/// Attribute bits of a device, numbered as in app SDKs.
public struct DeviceAttributes: OptionSet, Sendable, Hashable, Codable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Bit 12: the device stores backup networks and switches between them.
    public static let backupNetworks = DeviceAttributes(rawValue: 1 << 12)
}
