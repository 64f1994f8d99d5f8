import AgentModel

public enum PowerSave: String, Sendable, CaseIterable {
    case off
    case on
    /// Power save is off during traffic, otherwise on.
    case traffic
    /// The driver decides on power save.
    case driver

    /// Value to set on a new interface; nil to leave power save unchanged.
    var isOn: Bool? {
        switch self {
        case .off, .traffic: false
        case .on: true
        case .driver: nil
        }
    }
}

public struct PowerSaveChoice: Sendable, Hashable {
    /// Choice for networks that are not in `networks`, and without a network.
    public let others: PowerSave
    public let networks: [SSID: PowerSave]

    subscript(_ network: SSID?) -> PowerSave { network.flatMap { networks[$0] } ?? others }
}

extension [SSID: PowerSave] {
    /// - Parameter setting: names with `off`, `on` or `traffic`, as in `Garden=on;Shed=traffic`. A semicolon in a name
    ///   is `\x3b`. `driver` is not allowed, because the driver's value is unknown once it was changed.
    /// - Returns: nil if the setting is malformed or a name occurs twice.
    init?(powerSave setting: String) {
        self.init()
        for entry in setting.split(separator: ";", omittingEmptySubsequences: false) {
            guard let equals = entry.lastIndex(of: "="), let ssid = SSID(description: String(entry[..<equals])),
                let choice = PowerSave(rawValue: String(entry[entry.index(after: equals)...])), choice != .driver,
                updateValue(choice, forKey: ssid) == nil
            else { return nil }
        }
    }
}
