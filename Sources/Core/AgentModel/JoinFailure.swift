/// Why joining a network, or staying in it, failed. Each kind has its own back-off.
public enum JoinFailure: String, Error, Sendable, CaseIterable {
    /// The access point did not accept the key: the 4-way handshake or SAE failed. A single occurrence can be lost
    /// frames; two in a row are a wrong password.
    case wrongKey
    /// The access point takes no more stations (status 17 and its kin).
    case accessPointFull
    /// No access point with this name and a fitting security answered.
    case notFound
    /// Access points of this name are in range, and all of them offer less than this network has had.
    case lessSecure
    /// Access points of this name are in range, and all of them have what is never joined: WPA or TKIP, WEP, IEEE 802.1X.
    case unsupportedSecurity
    /// The access point refused for another reason.
    case rejected
    /// Association or handshake did not finish in time.
    case timeout
    /// The link was made and broke before the network was up.
    case linkLost
    /// The link is there, but no address and route came in time.
    case noAddress
    /// The network wants a person to log in before it lets anything through.
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
