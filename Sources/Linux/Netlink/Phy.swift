import AgentModel
import CNetlink

/// Capabilities of a radio (`NL80211_CMD_GET_WIPHY`).
public struct Phy: Hashable, Sendable {
    public internal(set) var index: Int
    public internal(set) var name: String
    /// All channels of all bands, including disabled ones.
    public internal(set) var channels: [Channel]
    /// Maximum number of SSIDs per scan, including the wildcard.
    public internal(set) var maximumScanSSIDs: Int
    public internal(set) var signalThresholds: SignalThresholds
    /// True if driver and firmware perform the whole join, including the search (`NL80211_CMD_CONNECT`). Otherwise the
    /// program authenticates with an access point of a scan.
    public internal(set) var joinsByItself: Bool
    /// True if the firmware roams between a network's access points.
    public internal(set) var roamsByItself: Bool
    /// True if the firmware can perform the 4-way handshake or SAE for wpa_supplicant.
    public internal(set) var handshakesByItself: Bool
    /// True if the radio supports access point mode.
    public internal(set) var opensAccessPoints: Bool
    /// Alternative sets of concurrent interfaces.
    public internal(set) var combinations: [InterfaceCombination]

    /// A channel and its regulatory limits.
    public struct Channel: Hashable, Sendable {
        public let frequency: Frequency
        public let isDisabled: Bool
        /// True if only passive scans are allowed: "no initiating radiation".
        public let isPassive: Bool
        /// True if radar uses the same channel.
        public let isRadar: Bool
    }

    /// Support for the kernel's signal supervision (CQM).
    public enum SignalThresholds: Hashable, Sendable {
        /// The driver supports one threshold or none, and does not say which.
        case oneAtMost
        case many
    }

    /// A set of interfaces that can run concurrently.
    public struct InterfaceCombination: Hashable, Sendable {
        public let limits: [Limit]
        public let maximumInterfaces: Int
        /// Maximum number of channels in use.
        public let channels: Int

        /// Maximum number of interfaces of some types.
        public struct Limit: Hashable, Sendable {
            public let maximum: Int
            public let allowsStations: Bool
            public let allowsAccessPoints: Bool

            public init(maximum: Int, allowsStations: Bool, allowsAccessPoints: Bool = false) {
                (self.maximum, self.allowsStations) = (maximum, allowsStations)
                self.allowsAccessPoints = allowsAccessPoints
            }
        }

        /// True if one interface can be a station while another is an access point.
        var allowsBoth: Bool {
            guard maximumInterfaces >= 2 else { return false }
            let (stations, points) = (limits.filter(\.allowsStations), limits.filter(\.allowsAccessPoints))
            return stations.contains { station in
                points.contains { point in station == point ? point.maximum >= 2 : true }
            } || stations.count > 1 && !points.isEmpty
        }
    }

    /// Channels enabled in the current regulatory domain.
    public var usableChannels: [Channel] { channels.filter { !$0.isDisabled } }

    /// Channels of a full scan; empty means all usable channels. Skips channels below 1 GHz of IEEE 802.11ah radios, up
    /// to 51 in the US, which wpa_supplicant cannot join.
    var worthScanning: [Frequency] {
        let isMixed = usableChannels.contains { $0.frequency < Self.lowest }
        return isMixed ? usableChannels.map(\.frequency).filter { $0 >= Self.lowest } : []
    }

    /// Returns the frequencies that the radio has, or all if it has none of them. The kernel refuses scans with others.
    func scannable(_ frequencies: [Frequency]) -> [Frequency] {
        let there = frequencies.filter { frequency in channels.contains { $0.frequency == frequency } }
        return there.isEmpty ? frequencies : there
    }

    private static let lowest = Frequency(megahertz: 2000)

    public var bands: Set<Band> { Set(usableChannels.map(\.frequency.band)) }

    /// Maximum number of links to different access points, and of their channels. With at least 2 and 2, the radio can
    /// join a new network before leaving the old one.
    public var stationConcurrency: (links: Int, channels: Int) {
        combinations.map { combination in
            let stations = combination.limits.filter(\.allowsStations).map(\.maximum).reduce(0, +)
            return (links: min(stations, combination.maximumInterfaces), channels: combination.channels)
        }
        .max { ($0.links, $0.channels) < ($1.links, $1.channels) } ?? (links: 1, channels: 1)
    }

    /// Number of channels usable while the radio is both station and access point; nil if it cannot be both.
    public var channelsBesideAccessPoint: Int? { combinations.filter(\.allowsBoth).map(\.channels).max() }

    /// Channels on which an access point may start now.
    public var accessPointChannels: [Frequency] {
        usableChannels.filter { !$0.isPassive && !$0.isRadar && $0.frequency >= Self.lowest }.map(\.frequency)
    }
}

extension Phy {
    /// Combines the messages of a split dump (`NL80211_CMD_GET_WIPHY` with `NL80211_ATTR_SPLIT_WIPHY_DUMP`). The data
    /// does not fit into one message.
    /// - Returns: nil without a radio's index.
    init?(_ messages: [NetlinkMessage]) {
        let parts = messages.map(\.nl80211Attributes)
        func first<Value>(_ read: (Attributes) -> Value?) -> Value? { parts.lazy.compactMap(read).first }

        guard let index = first({ $0[NL80211_ATTR_WIPHY]?.count(as: UInt32.self) }) else { return nil }
        self.index = index
        name = first { $0[NL80211_ATTR_WIPHY_NAME]?.string } ?? "phy\(index)"
        // Radios without this attribute accept one SSID.
        maximumScanSSIDs = first { $0[NL80211_ATTR_MAX_NUM_SCAN_SSIDS]?.count(as: UInt8.self) } ?? 1
        let features = first { $0[NL80211_ATTR_EXT_FEATURES]?.bytes } ?? []
        signalThresholds = features.hasBit(NL80211_EXT_FEATURE_CQM_RSSI_LIST.rawValue) ? .many : .oneAtMost
        let commands = parts.flatMap { part in
            part[NL80211_ATTR_SUPPORTED_COMMANDS]?.nested.compactMap { $0.value.number(as: UInt32.self) } ?? []
        }
        joinsByItself =
            commands.contains(NL80211_CMD_CONNECT.rawValue) && !commands.contains(NL80211_CMD_AUTHENTICATE.rawValue)
        roamsByItself = parts.contains { $0[NL80211_ATTR_ROAM_SUPPORT] != nil }
        handshakesByItself =
            features.hasBit(NL80211_EXT_FEATURE_4WAY_HANDSHAKE_STA_PSK.rawValue)
            || features.hasBit(NL80211_EXT_FEATURE_SAE_OFFLOAD.rawValue)
        let channels = parts.flatMap(Self.channels)
        self.channels = Dictionary(channels.map { ($0.frequency, $0) }) { first, _ in first }.values
            .sorted { $0.frequency < $1.frequency }
        opensAccessPoints = parts.contains { part in
            part[NL80211_ATTR_SUPPORTED_IFTYPES]?.nested[NL80211_IFTYPE_AP] != nil
        }
        combinations = parts.flatMap { part in
            part[NL80211_ATTR_INTERFACE_COMBINATIONS]?.nested.compactMap { InterfaceCombination($0.value.nested) } ?? []
        }
    }

    private static func channels(_ part: Attributes) -> [Channel] {
        let bands = part[NL80211_ATTR_WIPHY_BANDS]?.nested.map(\.value.nested) ?? []
        return bands.flatMap { band in
            band[NL80211_BAND_ATTR_FREQS]?.nested.compactMap { Channel($0.value.nested) } ?? []
        }
    }
}

extension Phy.Channel {
    fileprivate init?(_ attributes: Attributes) {
        guard let megahertz = attributes[NL80211_FREQUENCY_ATTR_FREQ]?.count(as: UInt32.self) else { return nil }
        frequency = Frequency(megahertz: megahertz)
        isDisabled = attributes[NL80211_FREQUENCY_ATTR_DISABLED] != nil
        isPassive = attributes[NL80211_FREQUENCY_ATTR_NO_IR] != nil
        isRadar = attributes[NL80211_FREQUENCY_ATTR_RADAR] != nil
    }
}

extension Phy.InterfaceCombination {
    fileprivate init?(_ attributes: Attributes) {
        guard let maximum = attributes[NL80211_IFACE_COMB_MAXNUM]?.count(as: UInt32.self),
            let channels = attributes[NL80211_IFACE_COMB_NUM_CHANNELS]?.count(as: UInt32.self)
        else { return nil }
        // The cap is above any real radio's limit, and prevents an overflow of the sum.
        maximumInterfaces = min(maximum, 0xffff)
        self.channels = channels
        limits =
            attributes[NL80211_IFACE_COMB_LIMITS]?.nested.compactMap { limit in
                guard let maximum = limit.value.nested[NL80211_IFACE_LIMIT_MAX]?.count(as: UInt32.self) else {
                    return nil
                }
                let types = limit.value.nested[NL80211_IFACE_LIMIT_TYPES]?.nested
                return Limit(
                    maximum: min(maximum, 0xffff), allowsStations: types?[NL80211_IFTYPE_STATION] != nil,
                    allowsAccessPoints: types?[NL80211_IFTYPE_AP] != nil)
            } ?? []
    }
}

extension ArraySlice<UInt8> {
    /// Returns a bit of a bitmap, lowest bit of the first byte first. Missing bits are false.
    fileprivate func hasBit(_ bit: UInt32) -> Bool {
        dropFirst(Int(bit / 8)).first.map { $0 & 1 << (bit % 8) != 0 } ?? false
    }
}
