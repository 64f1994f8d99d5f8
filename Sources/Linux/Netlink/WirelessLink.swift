import AgentModel
import CNetlink
import Glibc

extension WirelessRadio {
    /// Number of frames sent; nil while the interface is missing. The driver chooses when the count starts. Reads sysfs
    /// synchronously, so the caller does not wake up a second time.
    public var framesSent: UInt64? { LinkFiles.system.frames(.sent, of: interface) }

    /// Name of the driver; nil while the interface is missing.
    public var driver: String? { LinkFiles.system.driver(of: interface) }

    /// Number of frames sent and received, counted like `framesSent`.
    public var frames: (sent: UInt64, received: UInt64)? {
        guard let sent = framesSent, let received = LinkFiles.system.frames(.received, of: interface) else {
            return nil
        }
        return (sent, received)
    }

    /// Measures the current link; nil without one.
    public func station() async throws(NetlinkError) -> StationInfo? {
        guard let bssid = try await associatedBSSID() else { return nil }
        let attempted = "measure the link of \(interface)"
        var request = try request(NL80211_CMD_GET_STATION, attempting: attempted)
        request.attributes.put(NL80211_ATTR_MAC, bytes: bssid.bytes)
        do throws(NetlinkError) {
            return try await socket.reply(to: request, attempting: attempted) { StationInfo($0) }
        } catch  where error.errno == ENOENT {
            // The link has just ended; its event follows.
            association = .unknown
            return nil
        }
    }

    /// Reads the associated access point; nil without one.
    public func link() async throws(NetlinkError) -> AssociatedBSS? {
        let attempted = "read the link of \(interface)"
        let request = try request(NL80211_CMD_GET_SCAN, attempting: attempted)
        // Every driver marks the scan result. Only some list it in a station dump.
        let associated = try await socket.dump(request, attempting: attempted) { message in
            BSS.isAssociated(message) ? BSS(message, now: .now) : nil
        }.first
        association = associated.map { .bssid($0.bssid) } ?? .none
        guard let associated else { return nil }
        var ssid = associated.ssid
        if ssid == nil { ssid = try await interfaces().first { $0.name == interface }?.ssid }
        return AssociatedBSS(bssid: associated.bssid, ssid: ssid, frequency: associated.frequency)
    }

    /// Sets signal thresholds of the current link for `signalLow` and `signalHigh`.
    /// - Parameters:
    ///   - thresholds: in dBm, below zero; an empty list ends the watch.
    ///   - hysteresis: change of the signal in dB that is needed for the next event.
    /// - Throws: `refused` with `EOPNOTSUPP` if the driver supports no thresholds, or fewer (`Phy.signalThresholds`).
    public func setSignalThresholds(_ thresholds: [Int], hysteresis: Int = 2) async throws(NetlinkError) {
        let attempted = "watch the signal of \(interface)"
        var request = try request(NL80211_CMD_SET_CQM, attempting: attempted)
        request.attributes.put(signalThresholds: thresholds, hysteresis: hysteresis)
        try await socket.perform(request, attempting: attempted)
    }

    /// Watches one signal threshold, in the form that the driver accepts.
    /// - Parameters:
    ///   - threshold: in dBm, below zero.
    ///   - hysteresis: change of the signal in dB that is needed for the next event.
    /// - Throws: `refused` with `EOPNOTSUPP` if the driver lacks support.
    public func watchSignal(at threshold: Int, hysteresis: Int = 2) async throws(NetlinkError) {
        while true {
            do throws(NetlinkError) {
                return try await setSignalThresholds(thresholdForm.thresholds(for: threshold), hysteresis: hysteresis)
            } catch  where error.errno == EOPNOTSUPP {
                guard thresholdForm.refused() else { throw error }
            }
        }
    }

    /// Allows or forbids sleep between beacons. Sleep saves power but delays received frames.
    public func setPowerSave(_ isOn: Bool) async throws(NetlinkError) {
        let attempted = "set power save of \(interface)"
        var request = try request(NL80211_CMD_SET_POWER_SAVE, attempting: attempted)
        request.attributes.put(
            NL80211_ATTR_PS_STATE, isOn ? NL80211_PS_ENABLED.rawValue : NL80211_PS_DISABLED.rawValue)
        try await socket.perform(request, attempting: attempted)
    }

    /// Joins an open network without the supplicant. The result is reported as an event.
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

    /// Leaves a network that no program manages. The result is reported as an event.
    /// - Throws: `refused` with `EPERM` for another program's link. wpa_supplicant owns its links
    ///   (`NL80211_ATTR_SOCKET_OWNER`): only it can end them, and they end when it dies.
    public func disconnect() async throws(NetlinkError) {
        let attempted = "disconnect \(interface)"
        var request = try request(NL80211_CMD_DISCONNECT, attempting: attempted)
        request.attributes.put(NL80211_ATTR_REASON_CODE, Self.leaving)
        try await end(request, attempting: attempted)
    }

    /// Sends a deauthentication frame. Works only with drivers that leave the join to the kernel.
    /// - Parameter reason: reason code (IEEE 802.11-2020, table 9-49).
    /// - Throws: `refused` with `EPERM` for another program's link.
    public func deauthenticate(from bssid: BSSID, reason: UInt16 = leaving) async throws(NetlinkError) {
        let attempted = "deauthenticate \(interface) from \(bssid)"
        var request = try request(NL80211_CMD_DEAUTHENTICATE, attempting: attempted)
        request.attributes.put(NL80211_ATTR_MAC, bytes: bssid.bytes)
        request.attributes.put(NL80211_ATTR_REASON_CODE, reason)
        try await end(request, attempting: attempted)
    }

    /// Reason code of a leaving station (IEEE 802.11-2020, table 9-49).
    public nonisolated static let leaving: UInt16 = 3

    private func end(_ request: NetlinkRequest, attempting attempted: String) async throws(NetlinkError) {
        do throws(NetlinkError) {
            try await socket.perform(request, attempting: attempted)
        } catch  where error.reason == .refused(errno: EPERM, detail: nil) {
            throw NetlinkError(
                attempted: attempted,
                reason: .refused(errno: EPERM, detail: "the link belongs to another program"))
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

/// Form of thresholds that a driver accepts: one threshold, or only a range, as for brcmfmac. The kernel converts two
/// or more thresholds to a range (nl80211.c, `nl80211_set_cqm_rssi`).
enum ThresholdForm: Hashable {
    case one
    /// Two thresholds, the second far below any signal.
    case range

    func thresholds(for threshold: Int) -> [Int] {
        switch self {
        case .one: [threshold]
        case .range: [min(Self.farBelow, threshold - 1), threshold]
        }
    }

    /// - Returns: true if another form is left to try.
    mutating func refused() -> Bool {
        guard self == .one else { return false }
        self = .range
        return true
    }

    /// Second CQM threshold in dBm, far below any real signal. Leaves room for the hysteresis, which the driver
    /// subtracts: the firmware stores a signed byte.
    private static let farBelow = -120
}

extension AttributeWriter {
    /// Writes the thresholds in the kernel's form: ascending order, or a single zero to end the watch.
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
    /// Reads the answer to `NL80211_CMD_GET_STATION`; nil without station data.
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
    /// Time unit of beacon intervals in microseconds (IEEE 802.11-2020, 9.4.1.3).
    private static let timeUnit: Int64 = 1024
}

extension AttributeValue {
    /// Signal in dBm; nil for 0, which mac80211 reports before it has an average.
    fileprivate var decibels: Int? { number(as: Int8.self).flatMap { $0 == 0 ? nil : Int($0) } }

    /// Bit rate in kbit/s. The kernel reports units of 100 kbit/s, with a 16-bit fallback.
    fileprivate var bitRate: Int? {
        let units =
            nested[NL80211_RATE_INFO_BITRATE32]?.count(as: UInt32.self)
            ?? nested[NL80211_RATE_INFO_BITRATE]?.count(as: UInt16.self)
        return units.map { min($0, 0xff_ffff) * 100 }
    }
}

public struct WirelessInterface: Hashable, Sendable {
    public let index: Int
    public let name: String
    public let phy: Int
    /// True for a client of access points ("managed"), the only kind that altnet uses.
    public let isStation: Bool
    public let address: BSSID?
    /// SSID of the interface's network, if the kernel reports it.
    public let ssid: SSID?
    public let frequency: Frequency?
}

public struct AssociatedBSS: Hashable, Sendable {
    public let bssid: BSSID
    /// SSID; nil if hidden and unknown to the kernel.
    public let ssid: SSID?
    public let frequency: Frequency
}

extension WirelessInterface {
    /// Reads a message of an interface dump; nil without a network interface, such as a P2P device.
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
    /// Command of a generic netlink message.
    var command: UInt8? { payload.first }

    package var nl80211Attributes: Attributes { attributes(after: GenericNetlinkFamily.headerLength) }
}
