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
    public let usesPassphrase: Bool
    public let isHidden: Bool
    /// The network that the device belongs in (the last commanded choice, or the one it was provisioned with): taken
    /// before equals, and returned to. At most one is.
    public let isPreferred: Bool
    /// The least that its access points must offer.
    public let floor: LinkProtection

    public init(
        id: NetworkID, ssid: SSID, usesPassphrase: Bool, isHidden: Bool = false, isPreferred: Bool = false,
        floor: LinkProtection = []
    ) {
        self.id = id
        self.ssid = ssid
        self.usesPassphrase = usesPassphrase
        self.isHidden = isHidden
        self.isPreferred = isPreferred
        self.floor = floor
    }

    /// Whether `bss` is an access point of this network: it has its name, and offers what the device asks of it.
    func matches(_ bss: BSS) -> Bool { bss.ssid == ssid && isOfItsKind(bss) && refusal(of: bss) == nil }

    /// Why an access point that bears this network's name is not joined. Nil if it is one of its own or has another
    /// name, and where it asks for a password that this network has none of: that is another network.
    public func refusal(of bss: BSS) -> JoinFailure? {
        guard bss.ssid == ssid, usesPassphrase || isOfItsKind(bss) else { return nil }
        guard isOfItsKind(bss) else { return bss.security.isOpenToAll ? .lessSecure : .unsupportedSecurity }
        return bss.protection.isSuperset(of: floor) ? nil : .lessSecure
    }

    private func isOfItsKind(_ bss: BSS) -> Bool {
        usesPassphrase ? bss.security.usesPassphrase : bss.security.isOpenToAll
    }

    /// Whether nothing but the floor differs from `other`, and that only upwards.
    func isRaised(from other: KnownNetwork) -> Bool {
        floor.isSuperset(of: other.floor)
            && KnownNetwork(
                id: id, ssid: ssid, usesPassphrase: usesPassphrase, isHidden: isHidden, isPreferred: isPreferred,
                floor: other.floor) == other
    }
}
