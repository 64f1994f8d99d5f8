import AgentModel
import CNetlink
import Glibc

extension WirelessRadio {
    /// How many frames went out, since some moment of the driver's choice; nil while the interface is missing. Nothing
    /// waits and no answer comes later, so this may be asked whenever the processor is awake.
    public var framesSent: UInt64? { LinkFiles.system.frames(.sent, of: interface) }

    /// The name of the driver behind the interface; nil while that is missing.
    public var driver: String? { LinkFiles.system.driver(of: interface) }

    /// How many frames went out and came in, in the same way.
    public var frames: (sent: UInt64, received: UInt64)? {
        guard let sent = framesSent, let received = LinkFiles.system.frames(.received, of: interface) else {
            return nil
        }
        return (sent, received)
    }

    /// Measures the current link. Nil while there is none.
    public func station() async throws(NetlinkError) -> StationInfo? {
        guard let bssid = try await associatedBSSID() else { return nil }
        let attempted = "measure the link of \(interface)"
        var request = try request(NL80211_CMD_GET_STATION, attempting: attempted)
        request.attributes.put(NL80211_ATTR_MAC, bytes: bssid.bytes)
        do throws(NetlinkError) {
            return try await socket.reply(to: request, attempting: attempted) { StationInfo($0) }
        } catch  where error.errno == ENOENT {
            // The link broke just now; its event is on the way.
            association = .unknown
            return nil
        }
    }

    /// The access point that the interface is associated with now.
    public func link() async throws(NetlinkError) -> AssociatedBSS? {
        let attempted = "read the link of \(interface)"
        let request = try request(NL80211_CMD_GET_SCAN, attempting: attempted)
        // The scan results say it for every kind of driver; a station dump does only for those that keep stations.
        let associated = try await socket.dump(request, attempting: attempted) { message in
            BSS.isAssociated(message) ? BSS(message, now: .now) : nil
        }.first
        association = associated.map { .bssid($0.bssid) } ?? .none
        guard let associated else { return nil }
        var ssid = associated.ssid
        if ssid == nil { ssid = try await interfaces().first { $0.name == interface }?.ssid }
        return AssociatedBSS(bssid: associated.bssid, ssid: ssid, frequency: associated.frequency)
    }

    /// Has the kernel watch the signal of the current link, for `signalLow` and `signalHigh`.
    ///
    /// - Parameters:
    ///   - thresholds: in dBm, below zero; none ends the watch.
    ///   - hysteresis: in dB, how far the signal must move on before the next event.
    /// - Throws: `refused` with `EOPNOTSUPP` where the driver cannot, or not so many (`Phy.signalThresholds`).
    public func setSignalThresholds(_ thresholds: [Int], hysteresis: Int = 2) async throws(NetlinkError) {
        let attempted = "watch the signal of \(interface)"
        var request = try request(NL80211_CMD_SET_CQM, attempting: attempted)
        request.attributes.put(signalThresholds: thresholds, hysteresis: hysteresis)
        try await socket.perform(request, attempting: attempted)
    }

    /// Has the kernel watch one threshold of the current link's signal, in the form that the driver takes.
    ///
    /// - Parameters:
    ///   - threshold: in dBm, below zero.
    ///   - hysteresis: in dB, how far the signal must move on before the next event.
    /// - Throws: `refused` with `EOPNOTSUPP` where the driver watches none.
    public func watchSignal(at threshold: Int, hysteresis: Int = 2) async throws(NetlinkError) {
        while true {
            do throws(NetlinkError) {
                return try await setSignalThresholds(thresholdForm.thresholds(for: threshold), hysteresis: hysteresis)
            } catch  where error.errno == EOPNOTSUPP {
                guard thresholdForm.refused() else { throw error }
            }
        }
    }

    /// Whether the radio may sleep between beacons, which saves power, and delays what is for it.
    public func setPowerSave(_ isOn: Bool) async throws(NetlinkError) {
        let attempted = "set power save of \(interface)"
        var request = try request(NL80211_CMD_SET_POWER_SAVE, attempting: attempted)
        request.attributes.put(
            NL80211_ATTR_PS_STATE, isOn ? NL80211_PS_ENABLED.rawValue : NL80211_PS_DISABLED.rawValue)
        try await socket.perform(request, attempting: attempted)
    }

    /// Joins an open network without the supplicant's help. The outcome is an event.
    public func connect(to ssid: SSID, bssid: BSSID? = nil, frequency: Frequency? = nil) async throws(NetlinkError) {
        let attempted = "connect \(interface) to \(ssid)"
        var request = try request(NL80211_CMD_CONNECT, attempting: attempted)
        request.attributes.put(NL80211_ATTR_SSID, bytes: ssid.bytes)
        if let bssid { request.attributes.put(NL80211_ATTR_MAC, bytes: bssid.bytes) }
        if let frequency {
            request.attributes.put(NL80211_ATTR_WIPHY_FREQ, UInt32(clamping: frequency.megahertz))
        }
        request.attributes.put(NL80211_ATTR_AUTH_TYPE, NL80211_AUTHTYPE_OPEN_SYSTEM.rawValue)
        try await socket.perform(request, attempting: attempted)
    }

    /// Leaves a network that no program manages. The end is an event.
    ///
    /// wpa_supplicant claims its links (`NL80211_ATTR_SOCKET_OWNER`): only it can end them, and they end when it dies.
    /// - Throws: `refused` with `EPERM` for a claimed link.
    public func disconnect() async throws(NetlinkError) {
        let attempted = "disconnect \(interface)"
        var request = try request(NL80211_CMD_DISCONNECT, attempting: attempted)
        request.attributes.put(NL80211_ATTR_REASON_CODE, Self.leaving)
        try await end(request, attempting: attempted)
    }

    /// Sends the access point a deauthentication and forgets it, on radios whose driver leaves that to the kernel.
    ///
    /// As with `disconnect()`, a link that another program claims is not to be ended so.
    /// - Parameter reason: IEEE 802.11-2020, table 9-49; 3 is "leaving".
    public func deauthenticate(from bssid: BSSID, reason: UInt16 = leaving) async throws(NetlinkError) {
        let attempted = "deauthenticate \(interface) from \(bssid)"
        var request = try request(NL80211_CMD_DEAUTHENTICATE, attempting: attempted)
        request.attributes.put(NL80211_ATTR_MAC, bytes: bssid.bytes)
        request.attributes.put(NL80211_ATTR_REASON_CODE, reason)
        try await end(request, attempting: attempted)
    }

    /// The reason code of a station that leaves (IEEE 802.11-2020, table 9-49).
    public nonisolated static let leaving: UInt16 = 3

    private func end(_ request: NetlinkRequest, attempting attempted: String) async throws(NetlinkError) {
        do throws(NetlinkError) {
            try await socket.perform(request, attempting: attempted)
        } catch  where error.reason == .refused(errno: EPERM, detail: nil) {
            throw NetlinkError(
                attempted: attempted,
                reason: .refused(errno: EPERM, detail: "a link that another program made is that program's to end"))
        }
    }

    private func associatedBSSID() async throws(NetlinkError) -> BSSID? {
        switch association {
        case .bssid(let bssid): bssid
        case .none: nil
        case .unknown: try await link()?.bssid
        }
    }
}

/// The number of thresholds that a driver takes. Some take one; some take a range only, as brcmfmac does, to which the
/// kernel (nl80211.c, `nl80211_set_cqm_rssi`) translates two or more.
enum ThresholdForm: Hashable {
    case one
    /// With another far below any signal, which is never crossed.
    case range

    func thresholds(for threshold: Int) -> [Int] {
        switch self {
        case .one: [threshold]
        case .range: [min(Self.farBelow, threshold - 1), threshold]
        }
    }

    /// - Returns: whether there is another form to try.
    mutating func refused() -> Bool {
        guard self == .one else { return false }
        self = .range
        return true
    }

    /// In dBm. Firmware has a byte for it, and a hysteresis goes below.
    private static let farBelow = -120
}

extension AttributeWriter {
    /// In the form that the kernel wants: a list in ascending order, and a single zero to end it.
    mutating func put(signalThresholds thresholds: [Int], hysteresis: Int) {
        putNested(NL80211_ATTR_CQM) { supervision in
            var list: [UInt8] = []
            for threshold in thresholds.isEmpty ? [0] : thresholds.sorted() {
                list.append(number: Int32(clamping: threshold))
            }
            supervision.put(NL80211_ATTR_CQM_RSSI_THOLD, bytes: list)
            supervision.put(NL80211_ATTR_CQM_RSSI_HYST, UInt32(clamping: hysteresis))
        }
    }
}

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
        transmitPackets = info[NL80211_STA_INFO_TX_PACKETS]?.number()
        transmitFailed = info[NL80211_STA_INFO_TX_FAILED]?.number()
    }
}

extension StationInfo {
    /// In which beacon intervals are counted, in microseconds (IEEE 802.11-2020, 9.4.1.3).
    private static let timeUnit: Int64 = 1024
}

extension AttributeValue {
    /// In dBm. 0 is what mac80211 says of an average before it has heard enough frames, and no receiver ever measures
    /// it.
    fileprivate var decibels: Int? { number(as: Int8.self).flatMap { $0 == 0 ? nil : Int($0) } }

    /// In kbit/s. The kernel counts in units of 100 kbit/s, and in 16 bits too for programs from before fast rates.
    fileprivate var bitRate: Int? {
        let units =
            nested[NL80211_RATE_INFO_BITRATE32]?.count(as: UInt32.self)
            ?? nested[NL80211_RATE_INFO_BITRATE]?.count(as: UInt16.self)
        return units.map { min($0, 0xff_ffff) * 100 }
    }
}

/// One interface of a radio (`NL80211_CMD_GET_INTERFACE`).
public struct WirelessInterface: Hashable, Sendable {
    public let index: Int
    public let name: String
    /// The number of the radio it belongs to.
    public let phy: Int
    /// Whether it is a client of access points ("managed"), the only kind that altnet uses.
    public let isStation: Bool
    public let address: BSSID?
    /// The network it is in, as far as the kernel says.
    public let ssid: SSID?
    public let frequency: Frequency?
}

/// The access point that the interface is associated with.
public struct AssociatedBSS: Hashable, Sendable {
    public let bssid: BSSID
    /// Nil where the access point hides its name and the kernel does not say it either.
    public let ssid: SSID?
    public let frequency: Frequency
}

extension WirelessInterface {
    /// Reads one message of an interface dump. Nil for what has no network interface, such as a P2P device.
    init?(_ message: NetlinkMessage) {
        let attributes = message.nl80211Attributes
        guard let index = attributes[NL80211_ATTR_IFINDEX]?.count(as: UInt32.self),
            let name = attributes[NL80211_ATTR_IFNAME]?.string,
            let phy = attributes[NL80211_ATTR_WIPHY]?.count(as: UInt32.self)
        else { return nil }
        self.index = index
        self.name = name
        self.phy = phy
        isStation = attributes[NL80211_ATTR_IFTYPE]?.number(as: UInt32.self) == NL80211_IFTYPE_STATION.rawValue
        address = attributes[NL80211_ATTR_MAC].flatMap { BSSID(bytes: $0.bytes) }
        ssid = attributes[NL80211_ATTR_SSID].flatMap { try? SSID(bytes: $0.bytes) }
        frequency = attributes[NL80211_ATTR_WIPHY_FREQ]?.count(as: UInt32.self).map(Frequency.init(megahertz:))
    }
}

extension NetlinkMessage {
    /// The command of a generic-netlink message.
    var command: UInt8? { payload.first }

    package var nl80211Attributes: Attributes { attributes(after: GenericNetlinkFamily.headerLength) }
}
