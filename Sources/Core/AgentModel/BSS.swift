/// A network of one access point, as found by a scan.
public struct BSS: Hashable, Sendable, Codable {
    public let bssid: BSSID
    /// SSID; nil if the access point hides it and no probe request named it.
    public let ssid: SSID?
    public let frequency: Frequency
    /// Signal strength in dBm of the last beacon or probe response, -200 to 100.
    public let signal: Int
    public let lastSeen: Instant
    public let security: Security
    public let protection: LinkProtection
    /// Mobility domain; nil if the access point does not support fast transition (802.11r).
    public let mobility: MobilityDomain?
    /// Share of time in which the channel is busy, as the access point says (BSS load element, IEEE 802.11-2020,
    /// 9.4.2.27): 0 to 255 for 0 to 100 %. Nil if it does not say.
    public let channelUtilization: UInt8?

    /// - Parameter protection: Offered protection; nil for the usual protection of `security`.
    public init(
        bssid: BSSID, ssid: SSID?, frequency: Frequency, signal: Int, lastSeen: Instant, security: Security,
        protection: LinkProtection? = nil, mobility: MobilityDomain? = nil, channelUtilization: UInt8? = nil
    ) {
        self.mobility = mobility
        self.channelUtilization = channelUtilization
        self.bssid = bssid
        self.ssid = ssid
        self.frequency = frequency
        self.signal = signal
        self.lastSeen = lastSeen
        self.security = security
        self.protection = protection ?? LinkProtection(usualOf: security)
    }

    /// - Throws: `DecodingError`, also for a signal outside -200 to 100 dBm.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        bssid = try container.decode(BSSID.self, forKey: .bssid)
        ssid = try container.decodeIfPresent(SSID.self, forKey: .ssid)
        frequency = try container.decode(Frequency.self, forKey: .frequency)
        signal = try container.decode(Int.self, forKey: .signal)
        lastSeen = try container.decode(Instant.self, forKey: .lastSeen)
        security = try container.decode(Security.self, forKey: .security)
        protection = try container.decode(LinkProtection.self, forKey: .protection)
        mobility = try container.decodeIfPresent(MobilityDomain.self, forKey: .mobility)
        channelUtilization = try container.decodeIfPresent(UInt8.self, forKey: .channelUtilization)
        guard (-200...100).contains(signal) else {
            throw DecodingError.dataCorruptedError(
                forKey: .signal, in: container, debugDescription: "not a signal in dBm")
        }
    }
}

/// Access points that share keys for fast transition (802.11r; IEEE 802.11-2020, 9.4.2.46).
public struct MobilityDomain: Hashable, Sendable, Codable {
    public let id: UInt16
    /// Whether the access point supports FT over the distribution system.
    public let isOverDistributionSystem: Bool

    public init(id: UInt16, isOverDistributionSystem: Bool) {
        (self.id, self.isOverDistributionSystem) = (id, isOverDistributionSystem)
    }
}

/// MAC address of an access point's radio for one network.
public struct BSSID: Hashable, Sendable, Comparable {
    /// The six bytes in the order they are sent, in the lower 48 bits.
    private let value: UInt64

    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 6 else { return nil }
        value = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Parses `02:00:00:00:01:00`.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6, parts.allSatisfy({ $0.utf8.count == 2 }), let bytes = Hex.bytes(parts.joined())
        else { return nil }
        self.init(bytes: bytes)
    }

    /// Splits `bytes` into addresses of six bytes each. Ignores an incomplete address at the end.
    public static func list(_ bytes: some RandomAccessCollection<UInt8>) -> [BSSID] {
        var rest = Array(bytes)[...]
        var list: [BSSID] = []
        while let bssid = BSSID(bytes: rest.prefix(6)) {
            list.append(bssid)
            rest = rest.dropFirst(6)
        }
        return list
    }

    public var bytes: [UInt8] { stride(from: 40, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) } }

    /// Whether an access point can have this address: not a group address and not zero.
    public var isUnicast: Bool { value >> 40 & 1 == 0 && value != 0 }

    public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

extension BSSID: CustomStringConvertible {
    public var description: String { bytes.map { Hex.string([$0]) }.joined(separator: ":") }
}

extension BSSID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let bssid = BSSID(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a BSSID")
        }
        self = bssid
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// Centre frequency of a channel's primary 20 MHz, in MHz.
public struct Frequency: Hashable, Sendable, Comparable {
    public let megahertz: Int

    public init(megahertz: Int) { self.megahertz = megahertz }

    /// Channels 6, 1 and 11: those of 2.4 GHz that do not overlap, where most access points are.
    public static let usual = [6, 1, 11].map { Frequency(megahertz: 2407 + 5 * $0) }

    /// Adds the usual channels, where a network may be that was never seen there.
    public static func withUsual(_ frequencies: [Frequency]) -> [Frequency] {
        Set(frequencies).union(usual).sorted()
    }

    /// Channel number (IEEE 802.11-2020, annex E); nil if the frequency has none.
    public var channel: Int? {
        switch megahertz {
        case 2484: 14
        case 2412...2472 where (megahertz - 2407).isMultiple(of: 5): (megahertz - 2407) / 5
        case 5160...5885 where megahertz.isMultiple(of: 5): (megahertz - 5000) / 5
        case 5955...7115 where (megahertz - 5950).isMultiple(of: 5): (megahertz - 5950) / 5
        default: nil
        }
    }

    /// Looks up a channel in a global operating class (IEEE 802.11-2020, table E-4).
    /// - Returns: nil if the class or the channel is unknown.
    public init?(channel: Int, ofClass operatingClass: Int) {
        let megahertz: Int? =
            switch (operatingClass, channel) {
            case (82, 14): 2484
            case (81, 1...13), (83...84, 1...13): 2407 + 5 * channel
            case (115...130, 36...177): 5000 + 5 * channel
            case (131...136, 1...233): 5950 + 5 * channel
            default: nil
            }
        guard let megahertz, Frequency(megahertz: megahertz).channel == channel else { return nil }
        self.init(megahertz: megahertz)
    }

    public var band: Band { megahertz < 3000 ? .twoPointFour : megahertz < 5950 ? .five : .six }

    public static func < (left: Self, right: Self) -> Bool { left.megahertz < right.megahertz }
}

extension Frequency: CustomStringConvertible {
    public var description: String { "\(megahertz) MHz" }
}

extension Frequency: Codable {
    /// Valid decoded values, in MHz.
    package static let readable = 1...100_000

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        megahertz = try container.decode(Int.self)
        guard Self.readable.contains(megahertz) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a frequency in MHz")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(megahertz)
    }
}

public enum Band: String, Sendable, CaseIterable, Comparable, Codable {
    case twoPointFour = "2.4 GHz"
    case five = "5 GHz"
    case six = "6 GHz"

    public static func < (left: Self, right: Self) -> Bool { left.order < right.order }

    private var order: Int {
        switch self {
        case .twoPointFour: 0
        case .five: 1
        case .six: 2
        }
    }
}

/// Statistics of the link to the current access point (nl80211.h, `NL80211_STA_INFO_*`). A driver may omit any field.
public struct StationInfo: Hashable, Sendable {
    /// Signal of the last frame received, in dBm.
    public var signal: Int?
    /// Moving average of the signal of all frames, in dBm.
    public var signalAverage: Int?
    /// Moving average of the signal of beacons, in dBm.
    public var beaconSignalAverage: Int?
    /// Beacons received since the association.
    public var beaconsReceived: UInt64?
    /// Beacon interval that the access point announces.
    public var beaconInterval: Duration?
    /// Beacons missed since the association.
    public var beaconLossCount: UInt32?
    /// Time since the last acknowledgement, or the last received frame other than a beacon.
    public var inactive: Duration?
    /// Time since the association.
    public var connected: Duration?
    /// Bit rate of the last frame received, in kbit/s.
    public var receiveBitRate: Int?
    /// Bit rate of the last frame sent, in kbit/s.
    public var transmitBitRate: Int?
    /// Frames sent since the association.
    public var transmitPackets: UInt32?
    /// Sent frames that were never acknowledged, since the association.
    public var transmitFailed: UInt32?

    public init() {}

    /// Best available signal in dBm: beacon average, else average, else last frame.
    public var strength: Int? { beaconSignalAverage ?? signalAverage ?? signal }
}
