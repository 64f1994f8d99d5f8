import AgentModel

/// Names a network that the device may join, for as long as the agent runs.
public struct NetworkID: Hashable, Sendable, Comparable {
    public let rawValue: Int

    public init(_ rawValue: Int) { self.rawValue = rawValue }

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What the policy has to know of a network that the device may join. Its credential is none of the policy's business.
public struct KnownNetwork: Hashable, Sendable {
    public let id: NetworkID
    public let ssid: SSID
    public let usesPassphrase: Bool
    public let isHidden: Bool
    /// The network that the device belongs in (the last commanded choice, or the one it was provisioned with): taken before
    /// equals, and returned to. At most one is.
    public let isPreferred: Bool

    public init(id: NetworkID, ssid: SSID, usesPassphrase: Bool, isHidden: Bool = false, isPreferred: Bool = false) {
        self.id = id
        self.ssid = ssid
        self.usesPassphrase = usesPassphrase
        self.isHidden = isHidden
        self.isPreferred = isPreferred
    }

    /// Whether `bss` is an access point of this network. An open network that took over the name of a protected one is
    /// not, and neither is one whose security the device refuses.
    func matches(_ bss: BSS) -> Bool {
        bss.ssid == ssid && (usesPassphrase ? bss.security.usesPassphrase : bss.security.isOpenToAll)
    }
}
