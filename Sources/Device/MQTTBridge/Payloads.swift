import AgentModel
import AppProtocol

/// The device as it is: what `status` says.
public struct StatusMessage: Sendable, Equatable, Codable {
    public var v = ProtocolLimits.version
    /// When the device told this; nil where it does not know the time.
    public var told: Timestamp?
    public var deviceId: String
    public var firmware: Firmware
    /// The name of the Wi-Fi network as text that is safe to show; nil without one.
    public var name: String?
    /// The same where the network is one of the stored, else `None`.
    public var selected: String
    /// As the answer to `network.get`.
    public var network: NetworkStatus
    public var outages: Outages
    /// Messages that were left out since the bridge has started, for there was no room for them.
    public var lost: Int

    public struct Firmware: Sendable, Equatable, Codable {
        public var installed: String
        /// The same unless the fleet's owner tells of a newer one.
        public var latest: String
    }

    /// Of the present day (UTC), or since the start where the device does not know the time.
    public struct Outages: Sendable, Equatable, Codable {
        public var today: Int
        public var secondsToday: Int
        public var last: OutageMessage?
    }
}

/// A time in which the device was not connected: what `outage` says.
public struct OutageMessage: Sendable, Equatable, Codable {
    /// Nil where the device does not know the time.
    public var began: Timestamp?
    public var ended: Timestamp?
    public var seconds: Int
    /// A reason of a decision or a problem of the connectivity, as the app protocol has them.
    public var reason: String
}

/// What Home Assistant's select and buttons say.
struct HomeAssistantCommand: Sendable, Equatable, Decodable {
    enum Action: String, Sendable, Decodable, CaseIterable {
        case `switch`
        case home
        case scan
        case identify
    }

    var action: Action
    /// Of `switch`: a name of the select's list.
    var network: String?
    /// In seconds since 1970.
    var expires: Int
}
