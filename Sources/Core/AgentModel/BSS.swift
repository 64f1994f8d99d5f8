/// One access point's network as a scan saw it.
public struct BSS: Hashable, Sendable {
    public let bssid: BSSID
    /// Nil where the access point hides its name in beacons and was not asked for it.
    public let ssid: SSID?
    public let frequency: Frequency
    /// Signal strength in dBm, as the radio measured the newest beacon or probe response.
    public let signal: Int
    /// When that frame was received.
    public let lastSeen: Instant
    public let security: Security
    /// What it says that it can do for a link.
    public let protection: LinkProtection

    /// - Parameter protection: nil where nothing but `security` tells.
    public init(
        bssid: BSSID, ssid: SSID?, frequency: Frequency, signal: Int, lastSeen: Instant, security: Security,
        protection: LinkProtection? = nil
    ) {
        self.bssid = bssid
        self.ssid = ssid
        self.frequency = frequency
        self.signal = signal
        self.lastSeen = lastSeen
        self.security = security
        self.protection = protection ?? LinkProtection(usualOf: security)
    }
}
