/// Everything the supplicant needs to join one network.
public struct JoinRequest: Sendable, Equatable {
    public let ssid: SSID
    public let credential: Credential
    /// The access point does not beacon its name, so it must be asked by name.
    public let isHidden: Bool
    /// The access point to join, or nil for any with this name.
    public let bssid: BSSID?
    /// The channels to look for it on. Empty means all, which takes seconds.
    public let frequencies: [Frequency]
    /// The security that this access point was seen to offer; nil if it is not known which it will be.
    public let offer: Security?
    /// The least that the link must have: with less it is not made, whatever the access point offers by then.
    public let floor: LinkProtection
    /// Whether to join it without a scan: the radio does none, and its firmware looks for the network by itself.
    public let isUnseen: Bool
    /// Whether a server's certificate has to be valid at this time. A device that does not know the time yet checks all
    /// else of it, and this later.
    public var checksCertificateTimes = true
    /// How the link that is there goes over to this access point of the same network; nil where the network is joined anew.
    public var roam: Roam?

    public init(
        ssid: SSID, credential: Credential, isHidden: Bool, bssid: BSSID?, frequencies: [Frequency], offer: Security?,
        floor: LinkProtection, isUnseen: Bool = false
    ) {
        self.ssid = ssid
        self.credential = credential
        self.isHidden = isHidden
        self.bssid = bssid
        self.frequencies = frequencies
        self.offer = offer
        self.floor = floor
        self.isUnseen = isUnseen
    }

    /// A way from one access point of a network to another (IEEE 802.11-2020, 13.5). It is a fast transition where both are of one
    /// mobility domain, else another authentication.
    public enum Roam: Sendable, Equatable {
        /// The other access point is asked itself: the link is left for that.
        case overTheAir
        /// It is asked through the present one, over the distribution system that they have in common, and the link stays until it
        /// has answered.
        case overTheDistributionSystem
    }

    /// The secret that opens the network.
    public enum Credential: Sendable, Equatable {
        /// Nothing: open and OWE networks.
        case none
        /// `psk` is the 256-bit key that WPA2 derives from passphrase and SSID (IEEE 802.11-2020, annex J.4.1), derived
        /// once when the network was stored; SAE needs the passphrase itself.
        case passphrase(Secret, psk: Secret)
        /// A user's, for a network with IEEE 802.1X.
        case enterprise(EnterpriseCredential)
    }
}

/// Why joining a network, or staying in it, failed. Each kind has its own back-off.
public enum JoinFailure: String, Error, Sendable, CaseIterable, Codable {
    /// The access point did not accept the key: the 4-way handshake, SAE or IEEE 802.1X failed. A single occurrence can
    /// be lost frames; two in a row are a wrong password.
    case wrongKey
    /// The access point takes no more stations (status 17 and its kin).
    case accessPointFull
    /// No access point with this name and a fitting security answered.
    case notFound
    /// Access points of this name are in range, and all of them offer less than this network has had.
    case lessSecure
    /// Access points of this name are in range, and all of them have what is never joined, or not with what is
    /// stored: WPA or TKIP, WEP, IEEE 802.1X for a password.
    case unsupportedSecurity
    /// The access point refused for another reason.
    case rejected
    /// The server of a network with IEEE 802.1X showed a certificate by an authority, for a name or for a time other
    /// than it has to have. No password and no proof of one was told to it.
    case certificateRefused
    /// Association or handshake did not finish in time.
    case timeout
    /// The link was made and broke before the network was up.
    case linkLost
    /// The link is there, but no address and route came in time.
    case noAddress
    /// The network wants a user to log in before it lets anything through.
    case captive
    /// Link and address are there, but what the device needs does not answer.
    case noInternet
    /// A switch that the app had to confirm over the new network was not confirmed in time.
    case unconfirmed
    /// The device was restarted in the middle.
    case interrupted
    /// wpa_supplicant is not running or does not answer.
    case supplicantUnavailable
    /// The interface is down or gone.
    case interfaceDown
}
