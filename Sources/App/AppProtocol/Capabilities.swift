/// What the device can do: the answer to `capabilities.get`.
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
    /// Names of optional parts that are there, documented in Docs/protocol.md.
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
