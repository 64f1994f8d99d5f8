/// What keeps a radio from sending and receiving (rfkill).
public enum RadioBlock: String, Sendable, Hashable {
    /// By a program: a Raspberry Pi's radio is so until a country is set.
    case soft
    /// By a switch on the device.
    case hard

    /// The obstacle, and what to do about it.
    /// - Parameter interface: that of the radio.
    public func advice(interface: String) -> String {
        switch self {
        case .soft:
            "the radio of \(interface) is blocked (rfkill): set ALTNET_COUNTRY in /etc/altnet/altnet.conf and restart altnet, "
                + "or run: sudo rfkill unblock wifi"
        case .hard: "the radio of \(interface) is switched off by a switch on the device (rfkill): switch it on"
        }
    }
}
