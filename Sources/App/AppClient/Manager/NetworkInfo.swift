import AgentModel
import AppProtocol

/// The network that the device is in: what app SDKs call `NetworkInfo`.
public struct NetworkInfo: Sendable, Equatable {
    /// What carries the device's default route; nil while nothing does, or something that has no number.
    public let network: NetworkType?
    /// The Wi-Fi network; nil unless `network` is ``NetworkType/wifi``. Its `description` is safe to show.
    public let ssid: SSID?
    /// In dBm; nil where it is not known, as on a wire.
    public let signal: Int?
    /// What the device allows now: ask ``DeviceNetworkManager/canUpdateWifiBackupNetwork(_:)`` and
    /// ``DeviceNetworkManager/canSwitchWifiNetwork(_:)``.
    public let flags: NetworkFlags
    /// The hash of the Wi-Fi network, where it is a stored one.
    public let ssidHash: NetworkHash?
    /// How far the network leads, whatever carries it; nil where the device does not say, as older ones do not.
    public let connectivity: Connectivity?
    /// The version of the protocol that the device answered in.
    public let version: Int

    /// Numbered as app SDKs number them.
    public enum NetworkType: Int, Sendable, CaseIterable {
        case wifi = 0
        case wired = 1
        case cellular = 2
    }

    public init(_ status: NetworkStatus) {
        network = status.uplink.flatMap(NetworkType.init)
        ssid = network == .wifi ? status.ssid : nil
        signal = network == .wifi || network == .cellular ? status.signal : nil
        flags = status.flags
        ssidHash = network == .wifi ? status.hash : nil
        connectivity = status.connectivity
        version = ProtocolLimits.version
    }
}

extension NetworkInfo.NetworkType {
    init?(_ uplink: Uplink) {
        switch uplink {
        case .wifi: self = .wifi
        case .wired: self = .wired
        case .cellular: self = .cellular
        case .other: return nil
        }
    }
}
