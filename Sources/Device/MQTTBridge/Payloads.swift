import AppProtocol

/// Payload of `status`.
public struct StatusMessage: Sendable, Equatable, Codable {
    public var v = ProtocolLimits.version
    /// Time of the message; nil while the device does not know the time.
    public var told: Timestamp?
    public var deviceId: String
    public var firmware: Firmware
    /// SSID as text that is safe to show; nil without Wi-Fi.
    public var name: String?
    /// Option of Home Assistant's select: `name` if that network is stored, else `None`.
    public var selected: String
    /// Answer to `network.get`.
    public var network: NetworkStatus
    public var outages: Outages
    public var lost: Int

    public struct Firmware: Sendable, Equatable, Codable {
        public var installed: String
        /// Version from the fleet's owner; equal to `installed` unless the owner has published another one.
        public var latest: String
    }

    /// Outages of the current day (UTC), or since the start while the device does not know the time.
    public struct Outages: Sendable, Equatable, Codable {
        public var today: Int
        public var secondsToday: Int
        public var last: OutageMessage?
    }
}

/// Payload of `outage`: a time without the required connectivity.
public struct OutageMessage: Sendable, Equatable, Codable {
    /// Start of the outage; nil while the device does not know the time.
    public var began: Timestamp?
    public var ended: Timestamp?
    public var seconds: Int
    /// Reason of a decision, or connectivity problem, as in the app protocol.
    public var reason: String
}

struct HomeAssistantCommand: Sendable, Equatable, Decodable {
    enum Action: String, Sendable, Decodable, CaseIterable {
        case `switch`
        case home
        case scan
        case identify
    }

    var action: Action
    /// Network name from the select's list, for `switch`.
    var network: String?
    /// Expiry in seconds since 1970.
    var expires: Int
}
