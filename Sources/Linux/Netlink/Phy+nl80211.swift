import AgentModel
import CNetlink

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
        let channels = parts.flatMap(Self.channels)
        self.channels = Dictionary(channels.map { ($0.frequency, $0) }) { first, _ in first }.values
            .sorted { $0.frequency < $1.frequency }
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
                return Limit(maximum: min(maximum, 0xffff), allowsStations: types?[NL80211_IFTYPE_STATION] != nil)
            } ?? []
    }
}

extension ArraySlice<UInt8> {
    /// A bit of a map that begins with the lowest bit of its first byte. Absent ones are not set.
    fileprivate func hasBit(_ bit: UInt32) -> Bool {
        dropFirst(Int(bit / 8)).first.map { $0 & 1 << (bit % 8) != 0 } ?? false
    }
}
