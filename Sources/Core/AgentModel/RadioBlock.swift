/// What keeps a radio from sending and receiving (rfkill).
public enum RadioBlock: String, Sendable, Hashable {
    /// By a program: a Raspberry Pi's radio is so until a country is set.
    case soft
    /// By a switch on the device.
    case hard

    /// What to do about it.
    public var remedy: String {
        switch self {
        case .soft: "set ALTNET_COUNTRY in /etc/altnet/altnet.conf and restart altnet, or run: sudo rfkill unblock wifi"
        case .hard: "switch it on"
        }
    }

    /// The obstacle, as what a radio is.
    public var words: String {
        switch self {
        case .soft: "blocked (rfkill)"
        case .hard: "switched off by a switch on the device (rfkill)"
        }
    }

    /// The obstacle, and what to do about it.
    /// - Parameter interface: that of the radio.
    public func advice(interface: String) -> String { "the radio of \(interface) is \(words): \(remedy)" }
}
