/// Everything the supplicant needs to join one network.
public struct JoinRequest: Sendable, Equatable {
    public let ssid: SSID
    public let credential: Credential
    /// The access point does not beacon its name, so it must be asked by name.
    public let isHidden: Bool
    /// The access point to join, or nil for any with this name.
    public let bssid: BSSID?
    /// Where to look for it. Empty means everywhere, which takes seconds.
    public let frequencies: [Frequency]
    /// What that access point was seen to offer; nil if it is not known which it will be.
    public let offer: Security?
    /// The least that the link must have: with less it is not made, whatever the access point offers by then.
    public let floor: LinkProtection

    public init(
        ssid: SSID, credential: Credential, isHidden: Bool, bssid: BSSID?, frequencies: [Frequency], offer: Security?,
        floor: LinkProtection
    ) {
        self.ssid = ssid
        self.credential = credential
        self.isHidden = isHidden
        self.bssid = bssid
        self.frequencies = frequencies
        self.offer = offer
        self.floor = floor
    }

    /// What opens the network.
    public enum Credential: Sendable, Equatable {
        /// Nothing: open and OWE networks.
        case none
        /// `psk` is the 256-bit key that WPA2 derives from passphrase and SSID (IEEE 802.11-2020, annex J.4.1), derived
        /// once when the network was stored; SAE needs the passphrase itself.
        case passphrase(Secret, psk: Secret)
    }
}
