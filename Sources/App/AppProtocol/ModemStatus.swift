/// A cellular modem, as reported by ModemManager.
public struct ModemStatus: Sendable, Equatable, Codable {
    public var interface: String
    public var state: State
    /// Signal quality from ModemManager, 0 to 100; nil without a network.
    public var quality: Int?
    /// Total received power (RSSI) in dBm; nil if unknown.
    public var rssi: Int?
    /// Power of the reference signals (RSRP) in dBm, for LTE and 5G; nil if unknown.
    public var rsrp: Int?
    public var technology: Technology?
    /// Name of the operator, which is untrusted text from the network.
    public var `operator`: String?

    public init(
        interface: String, state: State, quality: Int? = nil, rssi: Int? = nil, rsrp: Int? = nil,
        technology: Technology? = nil, operator: String? = nil
    ) {
        (self.interface, self.state, self.quality) = (interface, state, quality)
        (self.rssi, self.rsrp, self.technology, self.operator) = (rssi, rsrp, technology, `operator`)
    }

    /// Signal in dBm: the RSSI, or else the RSRP, which is about 20 dB lower.
    public var signal: Int? { rssi ?? rsrp }

    /// Names of ModemManager's states (`MMModemState`).
    public enum State: String, Sendable, CaseIterable, Codable {
        case failed, unknown, initializing, locked, disabled, disabling, enabling, enabled, searching, registered,
            disconnecting, connecting, connected
    }

    /// Generation of the mobile network.
    public enum Technology: String, Sendable, CaseIterable, Codable, Comparable {
        case second = "2g"
        case third = "3g"
        case fourth = "4g"
        case fifth = "5g"

        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// Maximum length of an operator's name in characters.
    package static let longestOperator = 64
}
