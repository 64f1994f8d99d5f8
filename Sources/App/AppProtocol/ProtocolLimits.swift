/// The version and the bounds that both ends of the app protocol keep to.
public enum ProtocolLimits {
    /// The protocol version spoken here: the `v` of every line.
    public static let version = 1
    /// The TCP port on which a device answers in its network, unless its maker chose another.
    public static let port = 25_863
    /// The length of a device id in bytes.
    public static let deviceIdLength = 1...64
    /// The length of a local key in bytes.
    public static let localKeyLength = 16...64
    /// The length of the name of an app's key in bytes of UTF-8, and how many there may be beside the owner's.
    public static let keyNameLength = 1...64
    public static let appKeys = 32
    /// How long an app's key may last, and how soon an invitation has to be claimed, in seconds.
    public static let keyLifetime = 1...315_360_000
    public static let claimWithin = 30...86_400
    /// The longest first line of a connection from the network, before its client has shown a key, in bytes.
    public static let openingLineLength = 1024
    /// The most bytes of WebSocket frames that come before that, control frames included.
    public static let openingFramesLength = 2048
    /// The longest line in bytes, in either direction, without its line feed.
    public static let lineLength = 64 * 1024
    /// How deep the objects and lists of a line may nest, the line's own object among them.
    public static let nesting = 32
    /// The longest request id in bytes of UTF-8.
    public static let idLength = 64
    /// The length of the name of a key for sealing, in bytes of UTF-8.
    public static let keyIdLength = 1...64
    /// After how many sealed passwords, and after how many seconds, the device has another key for sealing.
    public static let sealingKeyBoxes = 64
    public static let sealingKeyAge = 3600
    /// How many seconds the key before it still opens what was on its way.
    public static let sealingKeyGrace = 120
    /// How far ahead a proved request may expire, in seconds, and how many commands of them are remembered until then.
    public static let provedRequestLife = 3600
    public static let provedCommands = 256
    public static let provedCommandsOfKey = 64
    /// The most networks that an update may name. How many the device stores is in its capabilities.
    public static let updateEntries = 64
    /// The most SSIDs and the most frequencies that one scan may be limited to.
    public static let scanTargets = 64
    /// The most hotspot providers that a network in range can be claimed by, and the length of the name of one in
    /// bytes.
    public static let providers = 16
    public static let providerNameLength = 1...64
    /// How soon a switch may have to be confirmed, in seconds.
    public static let confirmWithin = 5...600
    /// The length of the name of a staged password, in bytes of UTF-8, and how long it may be kept, in seconds.
    public static let changeIdLength = 1...64
    public static let keepFor = 60...31_536_000
    /// How many decisions one `history.get` may ask for.
    public static let historyDecisions = 1...200
    /// How many it gets when it does not say.
    public static let defaultHistoryDecisions = 20
    /// How long the device may look before it answers `diagnosis.get`, in seconds.
    public static let diagnosisSeconds = 15
    /// The most fields that a user may be asked for so that the device can sign in.
    public static let portalFields = 16
    /// The length of a field's name, and the longest title and label of a request, in bytes of UTF-8.
    public static let portalNameLength = 1...128
    public static let portalTitleLength = 200
    /// The longest message of a request, in bytes of UTF-8.
    public static let portalMessageLength = 4000
    /// The longest value that a user answers a field with, in bytes of UTF-8.
    public static let portalValueLength = 1024
    /// The most servers that the device may be there for, and the length of the name and of the URL of one in bytes.
    public static let targets = 8
    public static let targetNameLength = 1...32
    public static let targetURLLength = 1...320
    /// The longest URL of a portal, in bytes.
    public static let portalURLLength = 2048
}

/// The device's capabilities: the answer to `capabilities.get`.
public struct Capabilities: Sendable, Equatable, Codable {
    public let supportsBackupNetworks: Bool
    public let attributes: DeviceAttributes
    /// How many backup networks the device stores at most.
    public let maxBackupNetworks: Int
    /// Protocol versions that the device speaks.
    public let versions: [Int]
    public let deviceId: String
    /// The version of the agent.
    public let firmware: String
    /// Names of optional parts that are there, documented in Docs/reference/protocol.md.
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

/// The attribute bits of a device, numbered as app SDKs number them.
public struct DeviceAttributes: OptionSet, Sendable, Hashable, Codable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Bit 12: the device stores backup networks and switches between them.
    public static let backupNetworks = DeviceAttributes(rawValue: 1 << 12)
}
