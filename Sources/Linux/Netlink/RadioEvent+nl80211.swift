import AgentModel
import CNetlink

extension RadioEvent {
    /// Reads a notification of any interface; nil for commands that altnet does not use.
    ///
    /// Ignores `DEAUTHENTICATE` and `DISASSOCIATE`: the kernel reports each lost link by `NL80211_CMD_DISCONNECT`, even
    /// if the supplicant authenticates.
    init?(_ message: NetlinkMessage) {
        let attributes = message.nl80211Attributes
        switch message.command.map({ nl80211_commands(UInt32($0)) }) {
        case NL80211_CMD_TRIGGER_SCAN: self = .scanStarted
        case NL80211_CMD_NEW_SCAN_RESULTS: self = .scanFinished(aborted: false, frequencies: attributes.scanned)
        case NL80211_CMD_SCAN_ABORTED: self = .scanFinished(aborted: true, frequencies: attributes.scanned)
        case NL80211_CMD_NOTIFY_CQM:
            guard let supervision = attributes[NL80211_ATTR_CQM]?.nested else { return nil }
            self.init(supervision: supervision)
        case NL80211_CMD_CONNECT: self.init(connection: attributes)
        case NL80211_CMD_ROAM:
            guard let bssid = attributes.bssid else { return nil }
            self = .connected(bssid)
        case NL80211_CMD_DISCONNECT:
            self = .disconnected(
                reason: attributes[NL80211_ATTR_REASON_CODE]?.count(as: UInt16.self),
                byAccessPoint: attributes[NL80211_ATTR_DISCONNECTED_BY_AP] != nil)
        case NL80211_CMD_CH_SWITCH_NOTIFY:
            guard let frequency = attributes[NL80211_ATTR_WIPHY_FREQ]?.count(as: UInt32.self) else { return nil }
            self = .channelChanged(Frequency(megahertz: frequency))
        case NL80211_CMD_REG_CHANGE, NL80211_CMD_WIPHY_REG_CHANGE:
            let isWorld =
                attributes[NL80211_ATTR_REG_TYPE]?.number(as: UInt8.self)
                == UInt8(truncatingIfNeeded: NL80211_REGDOM_TYPE_WORLD.rawValue)
            self = .regulatoryChanged(country: isWorld ? "00" : attributes[NL80211_ATTR_REG_ALPHA2]?.string)
        default: return nil
        }
    }

    /// Connection quality monitoring (`enum nl80211_attr_cqm`).
    private init?(supervision: Attributes) {
        let level = supervision[NL80211_ATTR_CQM_RSSI_LEVEL]?.number(as: Int32.self).map(Int.init)
        switch supervision[NL80211_ATTR_CQM_RSSI_THRESHOLD_EVENT]?.number(as: UInt32.self) {
        case NL80211_CQM_RSSI_THRESHOLD_EVENT_LOW.rawValue: self = .signalLow(level)
        case NL80211_CQM_RSSI_THRESHOLD_EVENT_HIGH.rawValue: self = .signalHigh(level)
        case NL80211_CQM_RSSI_BEACON_LOSS_EVENT.rawValue: self = .beaconLoss
        default:
            if supervision[NL80211_ATTR_CQM_BEACON_LOSS_EVENT] != nil {
                self = .beaconLoss
            } else if let frames = supervision[NL80211_ATTR_CQM_PKT_LOSS_EVENT]?.count(as: UInt32.self) {
                self = .packetLoss(frames: frames)
            } else {
                return nil
            }
        }
    }

    private init?(connection attributes: Attributes) {
        let status = attributes[NL80211_ATTR_STATUS_CODE]?.count(as: UInt16.self)
        switch (status, attributes.bssid) {
        case (0, let bssid?): self = .connected(bssid)
        // Success without a BSSID: ignored.
        case (0, nil): return nil
        case (let status, let bssid):
            let hasTimedOut = attributes[NL80211_ATTR_TIMED_OUT] != nil
            self = .connectionFailed(bssid, status: hasTimedOut ? nil : status)
        }
    }
}

extension Attributes {
    fileprivate var bssid: BSSID? { self[NL80211_ATTR_MAC].flatMap { BSSID(bytes: $0.bytes) } }

    fileprivate var scanned: [Frequency] {
        self[NL80211_ATTR_SCAN_FREQUENCIES]?.nested.prefix(WirelessRadio.maximumFrequencies).compactMap { entry in
            entry.value.count(as: UInt32.self).map(Frequency.init(megahertz:))
        } ?? []
    }
}
