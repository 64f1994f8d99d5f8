import AgentModel

/// Names a network that the device may join, for as long as the agent runs.
public struct NetworkID: RawRepresentable, Hashable, Sendable, Comparable, Codable {
    public let rawValue: Int

    public init(_ rawValue: Int) { self.rawValue = rawValue }
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A network that the device may join, as far as the policy has to know it: without its credential.
public struct KnownNetwork: Hashable, Sendable, Codable {
    public let id: NetworkID
    public let ssid: SSID
    /// It has a password, or another credential, that opens its access points.
    public let usesPassphrase: Bool
    /// Its credential is a user's, for IEEE 802.1X, and opens nothing else.
    public var isEnterprise: Bool { enterprise ?? false }
    /// Nil instead of false, which records leave out.
    private let enterprise: Bool?
    public let isHidden: Bool
    /// The network that the device belongs in (the last commanded choice, or the one it was provisioned with): taken
    /// before equals, and returned to. At most one is.
    public let isPreferred: Bool
    /// The least that its access points must offer.
    public private(set) var minimumSecurity: LinkProtection
    /// Whether the owner permits first-generation WPA and TKIP with the network's password.
    public var allowsTKIP: Bool { tkip ?? false }
    /// Nil instead of false, which records leave out.
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

    /// Why an access point that bears this network's name is not joined. Nil if it is one of its own or has another
    /// name, and where it asks for a password that this network has none of: that is another network.
    public func refusal(of bss: BSS) -> JoinFailure? { refusal(of: bss, requiring: minimumSecurity) }

    /// The same with another floor.
    package func refusal(of bss: BSS, requiring minimumSecurity: LinkProtection) -> JoinFailure? {
        guard bss.ssid == ssid, usesPassphrase || isOfItsKind(bss) else { return nil }
        guard isOfItsKind(bss) else {
            // A password of many, or none, in place of a server that shows its certificate.
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

    /// Whether nothing but the floor differs from `other`, and that only upwards.
    func isRaised(from other: KnownNetwork) -> Bool {
        var lowered = self
        lowered.minimumSecurity = other.minimumSecurity
        return lowered == other && minimumSecurity.isSuperset(of: other.minimumSecurity)
    }
}
