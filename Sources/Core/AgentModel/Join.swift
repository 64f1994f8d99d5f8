public struct JoinRequest: Sendable, Equatable {
    public let ssid: SSID
    public let credential: Credential
    /// Whether the access point hides its SSID, so that probe requests must contain the SSID.
    public let isHidden: Bool
    /// Access point to join; nil for any with this SSID.
    public let bssid: BSSID?
    /// Channels to scan. Empty for all, which takes seconds.
    public let frequencies: [Frequency]
    /// Security that the access point offers, as scanned; nil if unknown.
    public let offer: Security?
    /// Minimum protection of the link. A join with less protection fails.
    public let minimumSecurity: LinkProtection
    /// Whether to join without a scan, because the radio cannot scan but its firmware finds the network.
    public let isUnseen: Bool
    /// Whether to check the validity dates of a server certificate. False until the device's clock is set.
    public var checksCertificateTimes = true
    /// Whether the owner permits first-generation WPA and TKIP.
    public var allowsTKIP = false
    /// How to roam to this access point within the current network; nil for a new join.
    public var roam: Roam?

    public init(
        ssid: SSID, credential: Credential, isHidden: Bool, bssid: BSSID?, frequencies: [Frequency], offer: Security?,
        minimumSecurity: LinkProtection, isUnseen: Bool = false
    ) {
        self.ssid = ssid
        self.credential = credential
        self.isHidden = isHidden
        self.bssid = bssid
        self.frequencies = frequencies
        self.offer = offer
        self.minimumSecurity = minimumSecurity
        self.isUnseen = isUnseen
    }

    /// How to roam (IEEE 802.11-2020, 13.5): by fast transition within a mobility domain, else by a new authentication.
    public enum Roam: Sendable, Equatable {
        /// Leaves the current access point to authenticate with the new one.
        case overTheAir
        /// Authenticates through the current access point, over the distribution system. The link stays up until the
        /// answer.
        case overTheDistributionSystem
    }

    public enum Credential: Sendable, Equatable {
        /// No credential, for open and OWE networks.
        case none
        /// `psk` is the 256-bit key of WPA2 (IEEE 802.11-2020, annex J.4.1), derived once when the network is stored.
        /// SAE uses the passphrase.
        case passphrase(Secret, psk: Secret)
        case enterprise(EnterpriseCredential)
    }
}

/// Reason why a join failed or a link ended. Each reason has its own back-off.
public enum JoinFailure: String, Error, Sendable, CaseIterable, Codable {
    /// The 4-way handshake, SAE or IEEE 802.1X failed. One failure may come from frame loss. Two in a row mean a wrong
    /// password.
    case wrongKey
    /// The access point has no room for another station (status 17 and similar).
    case accessPointFull
    /// No access point with this SSID and matching security answered.
    case notFound
    /// All access points in range with this SSID offer less protection than the network's security floor.
    case lessSecure
    /// All access points in range with this SSID use unsupported security: WEP, IEEE 802.1X for a stored password, or
    /// WPA or TKIP without the owner's permission.
    case unsupportedSecurity
    case rejected
    /// The server's certificate has a wrong authority, name or date. The server received neither the password nor a
    /// proof of it.
    case certificateRefused
    /// Association or handshake did not finish in time.
    case timeout
    /// The link ended before the network was up.
    case linkLost
    /// The link is up, but no address and route arrived in time.
    case noAddress
    /// The network requires a sign-in.
    case captive
    /// The device has an address, but connectivity checks or targets fail.
    case noInternet
    /// The app did not confirm the switch over the new network in time.
    case unconfirmed
    /// The device restarted during the join.
    case interrupted
    /// wpa_supplicant is not running or does not answer.
    case supplicantUnavailable
    /// The interface is down or gone.
    case interfaceDown
}
