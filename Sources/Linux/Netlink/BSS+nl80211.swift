import AgentModel
import CNetlink

extension BSS {
    /// Reads one message of a scan dump (`NL80211_CMD_NEW_SCAN_RESULTS`).
    /// - Parameter now: for drivers that say only how long ago they heard it.
    /// - Returns: nil without an address, a frequency or any measure of the signal.
    init?(_ message: NetlinkMessage, now: Instant) {
        guard let entry = message.nl80211Attributes[NL80211_ATTR_BSS]?.nested,
            let bssid = entry[NL80211_BSS_BSSID].flatMap({ BSSID(bytes: $0.bytes) }),
            let frequency = entry[NL80211_BSS_FREQUENCY]?.count(as: UInt32.self),
            let signal = Self.signal(entry)
        else { return nil }
        // The newest frame, and the newest beacon where that was a probe response.
        let elements = entry[NL80211_BSS_INFORMATION_ELEMENTS].map { InformationElements($0.bytes) }
        let beacon = entry[NL80211_BSS_BEACON_IES].map { InformationElements($0.bytes) }
        let isPrivate = (entry[NL80211_BSS_CAPABILITY]?.number(as: UInt16.self) ?? 0) & Self.privacy != 0
        self.init(
            bssid: bssid, ssid: elements?.ssid ?? beacon?.ssid, frequency: Frequency(megahertz: frequency),
            signal: signal,
            lastSeen: Self.lastSeen(entry, now: now),
            security: (elements ?? beacon)?.security(isPrivate: isPrivate) ?? .unknown,
            protection: (elements ?? beacon)?.protection ?? [])
    }

    /// Whether this message of a scan dump is of the access point that the interface is associated with.
    static func isAssociated(_ message: NetlinkMessage) -> Bool {
        message.nl80211Attributes[NL80211_ATTR_BSS]?.nested[NL80211_BSS_STATUS]?.number(as: UInt32.self)
            == NL80211_BSS_STATUS_ASSOCIATED.rawValue
    }

    /// The privacy bit of the capability field (IEEE 802.11-2020, 9.4.1.4).
    private static let privacy: UInt16 = 1 << 4

    private static func signal(_ entry: Attributes) -> Int? {
        if let hundredths = entry[NL80211_BSS_SIGNAL_MBM]?.number(as: Int32.self) { return Int(hundredths) / 100 }
        // Drivers without a calibrated measure say 0 to 100; taken as the percentage that everybody shows for -100 to -50.
        return entry[NL80211_BSS_SIGNAL_UNSPEC]?.number(as: UInt8.self).map { Int(min($0, 100)) / 2 - 100 }
    }

    private static func lastSeen(_ entry: Attributes, now: Instant) -> Instant {
        if let nanoseconds = entry[NL80211_BSS_LAST_SEEN_BOOTTIME]?.number(as: UInt64.self) {
            return min(Instant(milliseconds: Int64(nanoseconds / 1_000_000)), now)
        }
        let age = entry[NL80211_BSS_SEEN_MS_AGO]?.number(as: UInt32.self) ?? 0
        return now - .milliseconds(Int64(age))
    }
}
