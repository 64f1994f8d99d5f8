import AgentModel

/// Identifies a network that the device may join, while the agent runs.
public struct NetworkID: RawRepresentable, Hashable, Sendable, Comparable, Codable {
    public let rawValue: Int

    public init(_ rawValue: Int) { self.rawValue = rawValue }
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A network that the device may join, without its credential.
public struct KnownNetwork: Hashable, Sendable, Codable {
    public let id: NetworkID
    public let ssid: SSID
    /// Whether a password or another credential opens its access points.
    public let usesPassphrase: Bool
    /// Whether its credential is a user's, for IEEE 802.1X only.
    public var isEnterprise: Bool { enterprise ?? false }
    /// Nil for false, so that records omit it.
    private let enterprise: Bool?
    public let isHidden: Bool
    /// Whether the device belongs in it (the last commanded choice, or the provisioned one). It comes before equals,
    /// and the device returns to it. At most one network is preferred.
    public let isPreferred: Bool
    /// The minimum protection that its access points must offer.
    public private(set) var minimumSecurity: LinkProtection
    /// Whether the owner permits first-generation WPA and TKIP with the network's password.
    public var allowsTKIP: Bool { tkip ?? false }
    /// Nil for false, so that records omit it.
    private let tkip: Bool?
    /// The only band in which the owner permits to join it; nil for all.
    public let band: Band?
    /// The only access point that the owner permits; nil for all.
    public let bssid: BSSID?

    private enum CodingKeys: String, CodingKey {
        case id, ssid, usesPassphrase, enterprise = "isEnterprise", isHidden, isPreferred, minimumSecurity = "floor"
        case tkip = "allowsTKIP", band, bssid
    }

    public init(
        id: NetworkID, ssid: SSID, usesPassphrase: Bool, isEnterprise: Bool = false, isHidden: Bool = false,
        isPreferred: Bool = false, minimumSecurity: LinkProtection = [], allowsTKIP: Bool = false,
        band: Band? = nil, bssid: BSSID? = nil
    ) {
        self.id = id
        self.ssid = ssid
        self.usesPassphrase = usesPassphrase
        enterprise = isEnterprise ? true : nil
        self.isHidden = isHidden
        self.isPreferred = isPreferred
        self.minimumSecurity = minimumSecurity
        tkip = allowsTKIP ? true : nil
        (self.band, self.bssid) = (band, bssid)
    }

    /// Whether `bss` is an access point of this network that may be joined: it has the network's name, offers what the
    /// device asks of it, and the owner has not excluded it.
    package func matches(_ bss: BSS) -> Bool {
        bss.ssid == ssid && permits(bss.bssid, bss.frequency) && isOfItsKind(bss) && refusal(of: bss) == nil
    }

    /// Whether the owner permits an access point's address and, if known, its band.
    func permits(_ bssid: BSSID, _ frequency: Frequency?) -> Bool {
        (self.bssid ?? bssid) == bssid && (band == nil || frequency == nil || frequency?.band == band)
    }

    /// Why an access point with this network's name is not joined; nil if it may be, or has another name. Also nil if
    /// it asks for a password and this network has none: that is another network.
    public func refusal(of bss: BSS) -> JoinFailure? { refusal(of: bss, requiring: minimumSecurity) }

    /// Like `refusal(of:)`, with another minimum security.
    package func refusal(of bss: BSS, requiring minimumSecurity: LinkProtection) -> JoinFailure? {
        guard bss.ssid == ssid, usesPassphrase || isOfItsKind(bss) else { return nil }
        guard isOfItsKind(bss) else {
            // A shared password, or none, instead of a server with a certificate.
            let isLess = bss.security.isOpenToAll || isEnterprise && bss.security.usesPassphrase
            return isLess ? .lessSecure : .unsupportedSecurity
        }
        return bss.protection.isSuperset(of: minimumSecurity) ? nil : .lessSecure
    }

    private func isOfItsKind(_ bss: BSS) -> Bool {
        if isEnterprise { return bss.security == .enterprise }
        guard usesPassphrase else { return bss.security.isOpenToAll }
        return bss.security.usesPassphrase || allowsTKIP && bss.security == .legacy
    }

    /// Whether only the minimum security differs from `other`, and is not lower.
    func isRaised(from other: KnownNetwork) -> Bool {
        var lowered = self
        lowered.minimumSecurity = other.minimumSecurity
        return lowered == other && minimumSecurity.isSuperset(of: other.minimumSecurity)
    }
}
