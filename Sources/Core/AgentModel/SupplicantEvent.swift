/// Events of wpa_supplicant, in the order in which they happened.
public enum SupplicantEvent: Sendable, Equatable {
    /// wpa_supplicant is ready. Also sent after its crash or restart: earlier requests are lost, so read `status`
    /// first.
    case available
    /// wpa_supplicant is gone or does not answer. `joinFailed(_, .supplicantUnavailable, _)` precedes it if a join is
    /// running.
    case unavailable
    /// The link is up, with all keys. `attempt` is nil if this process did not request the join.
    case connected(attempt: UInt64?, bssid: BSSID)
    /// The network has disabled these transition modes.
    case transitionDisabled(TransitionDisable)
    /// The access point will end the link within this time (IEEE 802.11-2020, 9.6.13.9).
    case disassociationImminent(within: Duration)
    /// The access point asks the device to move to another access point of the network.
    case transitionRequested
    /// A neighbour of the access point, and its channel. The agent asks for neighbours after each join.
    case neighbour(BSSID, Frequency)
    /// A link has ended, with the reason code of IEEE 802.11-2020, table 9-49, or 0 if none is known.
    /// `locallyGenerated` is true if the station ended the link (to switch, to leave, or because beacons were missing).
    case disconnected(reason: Int, locallyGenerated: Bool)
    /// The server's certificate was rejected in a repeated authentication: the link will end.
    case certificateRefused(String)
    case easyConnect(EasyConnectEvent)
    /// The join failed, and wpa_supplicant has stopped trying. `detail` is the line of wpa_supplicant with the cause,
    /// safe to print and without secrets.
    case joinFailed(attempt: UInt64, JoinFailure, detail: String)
}

/// Events of Wi-Fi Easy Connect (DPP) while wpa_supplicant listens for a configurator.
public enum EasyConnectEvent: Sendable, Equatable {
    /// A configurator has proved that it knows the device's code.
    case authenticated
    case network(EasyConnectNetwork)
    /// The exchange has ended without a network, and wpa_supplicant has stopped listening. The reason is safe to print.
    case failed(String)
}

public struct EasyConnectNetwork: Sendable, Equatable {
    public let ssid: SSID
    /// Passphrase, or a key of 64 hexadecimal digits.
    public let password: Secret
    /// True if the configurator allows only SAE.
    public let isForSAE: Bool

    package init(ssid: SSID, password: Secret, isForSAE: Bool) {
        (self.ssid, self.password, self.isForSAE) = (ssid, password, isForSAE)
    }
}
