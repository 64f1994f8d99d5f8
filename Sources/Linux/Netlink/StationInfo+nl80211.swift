import AgentModel
import CNetlink

extension StationInfo {
    /// Reads the answer to `NL80211_CMD_GET_STATION`. Nil if it says nothing of a station.
    init?(_ message: NetlinkMessage) {
        guard let info = message.nl80211Attributes[NL80211_ATTR_STA_INFO]?.nested else { return nil }
        self.init()
        signal = info[NL80211_STA_INFO_SIGNAL]?.decibels
        signalAverage = info[NL80211_STA_INFO_SIGNAL_AVG]?.decibels
        beaconSignalAverage = info[NL80211_STA_INFO_BEACON_SIGNAL_AVG]?.decibels
        beaconsReceived = info[NL80211_STA_INFO_BEACON_RX]?.number()
        beaconInterval = info[NL80211_STA_INFO_BSS_PARAM]?.nested[NL80211_STA_BSS_PARAM_BEACON_INTERVAL]?
            .number(as: UInt16.self).map { .microseconds(Int64($0) * Self.timeUnit) }
        beaconLossCount = info[NL80211_STA_INFO_BEACON_LOSS]?.number()
        inactive = info[NL80211_STA_INFO_INACTIVE_TIME]?.number(as: UInt32.self).map { .milliseconds($0) }
        connected = info[NL80211_STA_INFO_CONNECTED_TIME]?.number(as: UInt32.self).map { .seconds($0) }
        receiveBitRate = info[NL80211_STA_INFO_RX_BITRATE]?.bitRate
        transmitBitRate = info[NL80211_STA_INFO_TX_BITRATE]?.bitRate
        transmitFailed = info[NL80211_STA_INFO_TX_FAILED]?.number()
    }
}

extension StationInfo {
    /// In which beacon intervals are counted, in microseconds (IEEE 802.11-2020, 9.4.1.3).
    private static let timeUnit: Int64 = 1024
}

extension AttributeValue {
    /// In dBm. 0 is what mac80211 says of an average before it has heard enough frames, and no receiver ever measures it.
    fileprivate var decibels: Int? { number(as: Int8.self).flatMap { $0 == 0 ? nil : Int($0) } }

    /// In kbit/s. The kernel counts in units of 100 kbit/s, and in 16 bits too for programs from before fast rates.
    fileprivate var bitRate: Int? {
        let units =
            nested[NL80211_RATE_INFO_BITRATE32]?.count(as: UInt32.self)
            ?? nested[NL80211_RATE_INFO_BITRATE]?.count(as: UInt16.self)
        return units.map { min($0, 0xff_ffff) * 100 }
    }
}
