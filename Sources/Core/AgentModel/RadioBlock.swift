/// Reason why a radio cannot transmit (rfkill).
public enum RadioBlock: String, Sendable, Hashable {
    /// A program blocks the radio, for example on a Raspberry Pi until a country is set.
    case soft
    /// A switch on the device blocks the radio.
    case hard

    public var remedy: String {
        switch self {
        case .soft: "set ALTNET_COUNTRY in /etc/altnet/altnet.conf and restart altnet, or run: sudo rfkill unblock wifi"
        case .hard: "switch it on"
        }
    }

    /// State of the radio in words.
    public var words: String {
        switch self {
        case .soft: "blocked (rfkill)"
        case .hard: "switched off by a switch on the device (rfkill)"
        }
    }

    public func advice(interface: String) -> String { "the radio of \(interface) is \(words): \(remedy)" }
}
