import AgentModel

/// A cellular modem of the device, as ModemManager tells of it.
public struct ModemStatus: Sendable, Equatable, Codable {
    /// Its network interface.
    public var interface: String
    public var state: State
    /// 0 to 100, by ModemManager's own measure; nil where it is in no network.
    public var quality: Int?
    /// What it receives in all on its channel (RSSI), in dBm; nil where it is not known.
    public var rssi: Int?
    /// What it receives of the cell's reference signals (RSRP), in dBm; of LTE and 5G.
    public var rsrp: Int?
    public var technology: Technology?
    /// The network operator's name. Its text is the network's: show it with care.
    public var `operator`: String?

    public init(
        interface: String, state: State, quality: Int? = nil, rssi: Int? = nil, rsrp: Int? = nil,
        technology: Technology? = nil, operator: String? = nil
    ) {
        (self.interface, self.state, self.quality) = (interface, state, quality)
        (self.rssi, self.rsrp, self.technology, self.operator) = (rssi, rsrp, technology, `operator`)
    }

    /// In dBm: the RSSI, or else the RSRP, which is some 20 dB lower.
    public var signal: Int? { rssi ?? rsrp }

    /// By the names of ModemManager's states (`MMModemState`).
    public enum State: String, Sendable, CaseIterable, Codable {
        case failed, unknown, initializing, locked, disabled, disabling, enabling, enabled, searching, registered,
            disconnecting, connecting, connected
    }

    /// The generation of the network.
    public enum Technology: String, Sendable, CaseIterable, Codable, Comparable {
        case second = "2g"
        case third = "3g"
        case fourth = "4g"
        case fifth = "5g"

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// The longest name of an operator, in characters.
    package static let longestOperator = 64
}
