import AgentModel

/// Which weaker ways into a network its access point says are not to be taken any more (Wi-Fi Alliance, WPA3 Specification:
/// transition disable indication; bits as in hostap, wpa_common.h).
public struct TransitionDisable: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// WPA2 with a password.
    public static let personal = TransitionDisable(rawValue: 1)
    /// SAE without a public key of the access point's.
    public static let saePK = TransitionDisable(rawValue: 2)
    /// WPA2 with IEEE 802.1X.
    public static let enterprise = TransitionDisable(rawValue: 4)
    /// Open without encryption.
    public static let open = TransitionDisable(rawValue: 8)
}

extension LinkProtection {
    /// What the least is from now on of a network in which a link with this protection was made.
    ///
    /// As hostap does, it is believed only of the way in that the link itself took (wpas_glue.c): an access point that says
    /// "no more WPA2" to a station which can do nothing else would lock it out. That a link by OWE has come about says already
    /// what the bit for open networks says.
    public func raised(by disabled: TransitionDisable) -> LinkProtection {
        contains(.sae) && !disabled.isDisjoint(with: [.personal, .saePK]) ? union([.sae, .pmf]) : self
    }
}
