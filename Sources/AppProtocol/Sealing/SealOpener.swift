import AgentModel

/// The device's side of sealed passwords: its keys, and what it has opened already.
///
/// The private keys are in memory only. A restart makes a new one, so nothing that was sealed before can be opened, or
/// played again, after it.
public final class SealOpener: Sendable {
    private let device: DeviceKey

    public init(_ device: DeviceKey) { self.device = device }

    /// The key to seal with now.
    public var key: SealingKey {
        get throws(ProtocolError) { throw ProtocolError(.unsupported, "sealing is not there yet") }
    }

    /// Opens a sealed password, once.
    /// - Throws: `keyRotated`, `sealInvalid`, `sealUsed`, or `invalidPassword` for what is no Wi-Fi password.
    public func open(_ sealed: SealedPassword, ssid: SSID) throws(ProtocolError) -> Secret {
        throw ProtocolError(.unsupported, "sealing is not there yet")
    }
}
