/// Whether the radio may sleep between beacons.
public enum PowerSave: String, Sendable, CaseIterable {
    case off
    case on
    /// Off while the device is used, and on when it is left alone.
    case traffic
    /// As the driver has it.
    case driver

    /// What is set when the interface appears; nil for nothing.
    var isOn: Bool? {
        switch self {
        case .off, .traffic: false
        case .on: true
        case .driver: nil
        }
    }
}
