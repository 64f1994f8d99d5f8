import AgentModel

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

/// Whether the radio may sleep, by the network that it is in.
public struct PowerSaveChoice: Sendable, Hashable {
    /// In all networks that have no choice of their own, and in none.
    public let others: PowerSave
    public let networks: [SSID: PowerSave]

    init(others: PowerSave, networks: [SSID: PowerSave] = [:]) { (self.others, self.networks) = (others, networks) }

    subscript(_ network: SSID?) -> PowerSave { network.flatMap { networks[$0] } ?? others }
}

extension [SSID: PowerSave] {
    /// - Parameter setting: names and `off`, `on` or `traffic`, as in `Garden=on;Shed=traffic`. A name is as it is shown: a
    ///   semicolon in it is `\x3b`. `driver` is none of them: once it was set otherwise, what the driver had is not known.
    /// - Returns: nil for another form, and where a name is there twice.
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
