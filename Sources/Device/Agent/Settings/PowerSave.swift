/// Whether the radio may sleep between beacons.
public enum PowerSave: String, Sendable, CaseIterable {
    case off
    case on
    /// As the driver has it.
    case driver

    /// What is set; nil for nothing.
    var isOn: Bool? {
        switch self {
        case .off: false
        case .on: true
        case .driver: nil
        }
    }
}
