import AgentModel
import CNetlink

/// The abilities of a radio (`NL80211_CMD_GET_WIPHY`).
public struct Phy: Hashable, Sendable {
    public internal(set) var index: Int
    public internal(set) var name: String
    /// Every channel of every band, those included that may not be used now.
    public internal(set) var channels: [Channel]
    /// The most SSIDs that one scan can ask for, the wildcard included.
    public internal(set) var maximumScanSSIDs: Int
    public internal(set) var signalThresholds: SignalThresholds
    /// Whether driver and firmware do all of a join, from the search for the access point on (`NL80211_CMD_CONNECT`). Else
    /// the program that wants it authenticates with an access point that a scan has shown.
    public internal(set) var joinsByItself: Bool
    /// Whether its firmware moves between a network's access points by itself.
    public internal(set) var roamsByItself: Bool
    /// Whether its firmware offers to do the handshake of keys, or SAE, in wpa_supplicant's place.
    public internal(set) var handshakesByItself: Bool
    /// Whether it can be an access point at all.
    public internal(set) var opensAccessPoints: Bool
    /// Interfaces that can exist at the same time, one entry for each alternative.
    public internal(set) var combinations: [InterfaceCombination]

    /// One channel and what the regulatory domain allows on it.
    public struct Channel: Hashable, Sendable {
        public let frequency: Frequency
        /// Not to be used at all.
        public let isDisabled: Bool
        /// Not to be transmitted on before another station does ("no initiating radiation"): scans there only listen.
        public let isPassive: Bool
        /// Shared with radar.
        public let isRadar: Bool
    }

    /// How much of the kernel's signal supervision (CQM) the radio supports.
    public enum SignalThresholds: Hashable, Sendable {
        /// A single threshold may be supported or not: the driver alone knows.
        case oneAtMost
        /// Any number of thresholds at once.
        case many
    }

    /// One set of interfaces that the radio carries at the same time.
    public struct InterfaceCombination: Hashable, Sendable {
        public let limits: [Limit]
        /// The most interfaces in all.
        public let maximumInterfaces: Int
        /// The most channels on which they can be.
        public let channels: Int

        /// The most interfaces out of a set of types.
        public struct Limit: Hashable, Sendable {
            public let maximum: Int
            public let allowsStations: Bool
            public let allowsAccessPoints: Bool

            public init(maximum: Int, allowsStations: Bool, allowsAccessPoints: Bool = false) {
                (self.maximum, self.allowsStations) = (maximum, allowsStations)
                self.allowsAccessPoints = allowsAccessPoints
            }
        }

        /// Whether one interface of the radio can be a station while another one is an access point.
        var allowsBoth: Bool {
            guard maximumInterfaces >= 2 else { return false }
            let (stations, points) = (limits.filter(\.allowsStations), limits.filter(\.allowsAccessPoints))
            return stations.contains { station in
                points.contains { point in station == point ? point.maximum >= 2 : true }
            } || stations.count > 1 && !points.isEmpty
        }
    }

    /// Channels that may be used now.
    public var usableChannels: [Channel] { channels.filter { !$0.isDisabled } }

    /// The channels of a full scan; empty for all that may be used. A radio that can do IEEE 802.11ah as well has most
    /// of its channels below 1 GHz, as many as 51 in the US, and wpa_supplicant joins nothing there.
    var worthScanning: [Frequency] {
        let isMixed = usableChannels.contains { $0.frequency < Self.lowest }
        return isMixed ? usableChannels.map(\.frequency).filter { $0 >= Self.lowest } : []
    }

    private static let lowest = Frequency(megahertz: 2000)

    public var bands: Set<Band> { Set(usableChannels.map(\.frequency.band)) }

    /// The most links to different access points at a time, and on how many channels: 2 and 2 or more allow joining the
    /// next network before leaving the present one.
    public var stationConcurrency: (links: Int, channels: Int) {
        combinations.map { combination in
            let stations = combination.limits.filter(\.allowsStations).map(\.maximum).reduce(0, +)
            return (links: min(stations, combination.maximumInterfaces), channels: combination.channels)
        }
        .max { ($0.links, $0.channels) < ($1.links, $1.channels) } ?? (links: 1, channels: 1)
    }

    /// On how many channels the radio can be while it is a station and an access point; nil where it can be only one of
    /// the two at a time.
    public var channelsBesideAccessPoint: Int? { combinations.filter(\.allowsBoth).map(\.channels).max() }

    /// Channels on which an access point may be opened now.
    public var accessPointChannels: [Frequency] {
        usableChannels.filter { !$0.isPassive && !$0.isRadar && $0.frequency >= Self.lowest }.map(\.frequency)
    }
}

extension Phy {
    /// Puts together what the kernel tells in many small messages (`NL80211_CMD_GET_WIPHY` with
    /// `NL80211_ATTR_SPLIT_WIPHY_DUMP`; in one it no longer fits).
    /// - Returns: nil if they do not say which radio it is.
    init?(_ messages: [NetlinkMessage]) {
        let parts = messages.map(\.nl80211Attributes)
        func first<Value>(_ read: (Attributes) -> Value?) -> Value? { parts.lazy.compactMap(read).first }

        guard let index = first({ $0[NL80211_ATTR_WIPHY]?.count(as: UInt32.self) }) else { return nil }
        self.index = index
        name = first { $0[NL80211_ATTR_WIPHY_NAME]?.string } ?? "phy\(index)"
        // A radio that does not say takes one, as any did before the attribute was there.
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
        // More than any radio has, and few enough to be added up.
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
    /// A bit of a map that begins with the lowest bit of its first byte. Absent ones are not set.
    fileprivate func hasBit(_ bit: UInt32) -> Bool {
        dropFirst(Int(bit / 8)).first.map { $0 & 1 << (bit % 8) != 0 } ?? false
    }
}
