import AgentModel
import CNetlink
import Glibc
import Netlink

/// Runs the firmware's access point on a separate interface of the hidden radio: beacons, authentication and
/// association. The hidden station's thread uses it, in its network namespace.
final class HwsimAccessPoint: HwsimInterface {
    let order: AccessPointOrder
    let frames: FrameSocket
    let index: UInt32
    let family: UInt16
    let conversation: NetlinkConversation
    private let requests: NetlinkConversation
    let log: DongleLog
    /// Association ID of each station.
    private var associations: [BSSID: UInt16] = [:]

    private static let name = "softap"
    private static let mostStations: UInt16 = 2007

    /// Creates the interface and starts to send beacons.
    /// - Parameters:
    ///   - radio: index of any interface of the radio.
    ///   - conversation: socket that owns the new interface. The kernel removes the interface when the socket is
    ///     closed.
    init(
        _ order: AccessPointOrder, besides radio: UInt32, family: UInt16, conversation: NetlinkConversation,
        log: DongleLog
    ) throws(DongleError) {
        (self.order, self.family, self.conversation, self.log) = (order, family, conversation, log)
        requests = try NetlinkConversation()
        var request = NetlinkRequest(family: family, command: UInt8(NL80211_CMD_NEW_INTERFACE.rawValue))
        request.attributes.put(NL80211_ATTR_IFINDEX, radio)
        request.attributes.put(Int(NL80211_ATTR_IFNAME.rawValue), string: Self.name)
        request.attributes.put(NL80211_ATTR_IFTYPE, NL80211_IFTYPE_AP.rawValue)
        request.attributes.put(NL80211_ATTR_MAC, bytes: order.address.bytes)
        request.attributes.putFlag(NL80211_ATTR_SOCKET_OWNER)
        try conversation.ask(request, attempting: "make the interface of an access point")
        index = UInt32(clamping: if_nametoindex(Self.name))
        guard index != 0 else { throw .missing("interface \(Self.name)") }
        frames = try FrameSocket(interface: Self.name)
        try InterfaceSwitch.setUp(Self.name, true)
        for kind in ManagementFrame.heard {
            var request = self.request(NL80211_CMD_REGISTER_FRAME)
            request.attributes.put(NL80211_ATTR_FRAME_TYPE, UInt16(kind))
            request.attributes.put(NL80211_ATTR_FRAME_MATCH, bytes: [])
            try requests.ask(request, attempting: "listen to stations")
        }
        try conversation.ask(startRequest, attempting: "start the access point")
        log.log("access point \(order.ssid) on \(order.frequency), \(order.address)")
    }

    /// Deauthenticates the stations and removes the interface.
    func end() {
        for station in associations.keys { send(order.deauthentication(of: station, reason: 3)) }
        attempt("remove the access point", request(NL80211_CMD_DEL_INTERFACE))
        log.log("the access point is off")
    }

    /// File descriptor that becomes readable when a station sends a request.
    var requestDescriptor: Int32 { requests.descriptor }

    private var startRequest: NetlinkRequest {
        var request = request(NL80211_CMD_START_AP)
        request.attributes.put(NL80211_ATTR_BEACON_HEAD, bytes: order.beaconHead)
        request.attributes.put(NL80211_ATTR_BEACON_TAIL, bytes: order.beaconTail)
        request.attributes.put(NL80211_ATTR_BEACON_INTERVAL, UInt32(order.beaconInterval))
        request.attributes.put(NL80211_ATTR_DTIM_PERIOD, UInt32(order.trafficInterval))
        request.attributes.put(NL80211_ATTR_SSID, bytes: order.ssid.bytes)
        let hiding = order.isHidden ? NL80211_HIDDEN_SSID_ZERO_LEN : NL80211_HIDDEN_SSID_NOT_IN_USE
        request.attributes.put(NL80211_ATTR_HIDDEN_SSID, hiding.rawValue)
        request.attributes.put(NL80211_ATTR_WIPHY_FREQ, UInt32(clamping: order.frequency.megahertz))
        request.attributes.put(NL80211_ATTR_CHANNEL_WIDTH, NL80211_CHAN_WIDTH_20_NOHT.rawValue)
        request.attributes.put(NL80211_ATTR_AUTH_TYPE, NL80211_AUTHTYPE_OPEN_SYSTEM.rawValue)
        guard !order.security.suites.isEmpty else { return request }
        request.attributes.putFlag(NL80211_ATTR_PRIVACY)
        request.attributes.put(NL80211_ATTR_WPA_VERSIONS, NL80211_WPA_VERSION_2.rawValue)
        request.attributes.put(NL80211_ATTR_CIPHER_SUITE_GROUP, SoftAccessPoint.Security.ccmp)
        request.attributes.put(NL80211_ATTR_CIPHER_SUITES_PAIRWISE, SoftAccessPoint.Security.ccmp)
        var suites: [UInt8] = []
        for suite in order.security.suites { suites.append(little: suite) }
        request.attributes.put(NL80211_ATTR_AKM_SUITES, bytes: suites)
        return request
    }

    // MARK: Orders

    func perform(_ action: AccessPointAction) {
        switch action {
        case .start, .stop: break
        case .key(let key): set(key)
        case .authorise(let station, let isAuthorised):
            var request = request(NL80211_CMD_SET_STATION)
            request.attributes.put(NL80211_ATTR_MAC, bytes: station.bytes)
            let flag = Self.flag(NL80211_STA_FLAG_AUTHORIZED)
            request.attributes.put(NL80211_ATTR_STA_FLAGS2, bytes: Self.flags(flag, isAuthorised ? flag : 0))
            attempt("authorise \(station)", request)
        case .end(let station, let reason):
            send(order.deauthentication(of: station, reason: reason))
            forget(station)
        case .send(let frame): frames.send(frame)
        }
    }

    private func set(_ key: KeyOrder) {
        attempt(
            key.key.isEmpty ? "delete a key of the access point" : "set a key of the access point",
            key.request(family: family, interface: index))
        guard key.address == nil, !key.key.isEmpty else { return }
        var request = request(NL80211_CMD_SET_KEY)
        request.attributes.put(NL80211_ATTR_KEY_IDX, key.index)
        guard key.index < 4 else {
            request.attributes.putFlag(NL80211_ATTR_KEY_DEFAULT_MGMT)
            attempt("use the group key for sending", request)
            return
        }
        request.attributes.putFlag(NL80211_ATTR_KEY_DEFAULT)
        request.attributes.putNested(NL80211_ATTR_KEY_DEFAULT_TYPES) { types in
            types.putFlag(NL80211_KEY_DEFAULT_TYPE_MULTICAST)
        }
        attempt("use the group key for sending", request)
    }

    private static func flag(_ flag: nl80211_sta_flags) -> UInt32 { 1 << flag.rawValue }

    /// Encodes a mask and the flags to set within it (`struct nl80211_sta_flag_update`).
    private static func flags(_ mask: UInt32, _ set: UInt32) -> [UInt8] {
        var flags: [UInt8] = []
        flags.append(little: mask)
        flags.append(little: set)
        return flags
    }

    private func send(_ frame: [UInt8]) {
        var request = request(NL80211_CMD_FRAME)
        request.attributes.put(NL80211_ATTR_FRAME, bytes: frame)
        request.attributes.putFlag(NL80211_ATTR_DONT_WAIT_FOR_ACK)
        attempt("answer a station", request)
    }

    // MARK: Stations

    func readRequests() -> [AirEvent] {
        requests.news().flatMap { message -> [AirEvent] in
            guard message.payload.first == UInt8(NL80211_CMD_FRAME.rawValue),
                let bytes = message.nl80211Attributes[NL80211_ATTR_FRAME]?.bytes,
                let frame = ManagementFrame(Array(bytes)[...])
            else { return [] }
            return answer(frame)
        }
    }

    private func answer(_ frame: ManagementFrame) -> [AirEvent] {
        switch frame.kind {
        case ManagementFrame.probeRequest:
            if frame.asks(for: order.ssid, isHidden: order.isHidden) { send(order.probeResponse(to: frame.station)) }
        case ManagementFrame.authentication:
            // Only Open System is supported. Refuse SAE as an unknown algorithm (status 13).
            let isOpen = frame.body[...].little(0, as: UInt16.self) == 0
            send(order.authentication(to: frame.station, status: isOpen ? 0 : 13))
        case ManagementFrame.associationRequest, ManagementFrame.reassociationRequest:
            guard let request = frame.association else { return [] }
            return associate(frame.station, request)
        case ManagementFrame.disassociation, ManagementFrame.deauthentication:
            guard forget(frame.station) else { return [] }
            return [.stationLeft(frame.station, reason: frame.body[...].little(0) ?? 1)]
        default: break
        }
        return []
    }

    private func associate(_ station: BSSID, _ request: AssociationRequest) -> [AirEvent] {
        forget(station)
        let taken = Set(associations.values)
        guard let number = (1...Self.mostStations).first(where: { !taken.contains($0) }) else { return [] }
        var entry = self.request(NL80211_CMD_NEW_STATION)
        entry.attributes.put(NL80211_ATTR_MAC, bytes: station.bytes)
        entry.attributes.put(NL80211_ATTR_STA_AID, number)
        entry.attributes.put(NL80211_ATTR_STA_LISTEN_INTERVAL, request.listenInterval)
        entry.attributes.put(NL80211_ATTR_STA_SUPPORTED_RATES, bytes: request.rates.prefix(32))
        let protects = order.security.frameProtection != 0 && request.canProtectFrames
        let set =
            Self.flag(NL80211_STA_FLAG_AUTHENTICATED) | Self.flag(NL80211_STA_FLAG_ASSOCIATED)
            | (request.hasTrafficClasses ? Self.flag(NL80211_STA_FLAG_WME) : 0)
            | (protects ? Self.flag(NL80211_STA_FLAG_MFP) : 0)
        entry.attributes.put(NL80211_ATTR_STA_FLAGS2, bytes: Self.flags(set, set))
        guard attempt("add the station \(station)", entry) else { return [] }
        associations[station] = number
        send(
            order.association(
                of: station, isAgain: request.isAgain, number: number, hasTrafficClasses: request.hasTrafficClasses))
        log.log("station \(station) has joined")
        return [.stationJoined(station, elements: request.elements, isAgain: request.isAgain)]
    }

    /// Removes a station.
    /// - Returns: true if the station was known.
    @discardableResult
    private func forget(_ station: BSSID) -> Bool {
        guard associations.removeValue(forKey: station) != nil else { return false }
        var request = request(NL80211_CMD_DEL_STATION)
        request.attributes.put(NL80211_ATTR_MAC, bytes: station.bytes)
        attempt("remove the station \(station)", request)
        return true
    }
}

/// An interface of the hidden radio, operated over nl80211.
protocol HwsimInterface {
    var index: UInt32 { get }
    var family: UInt16 { get }
    var conversation: NetlinkConversation { get }
    var log: DongleLog { get }
}

extension HwsimInterface {
    func request(_ command: nl80211_commands) -> NetlinkRequest {
        var request = NetlinkRequest(family: family, command: UInt8(command.rawValue))
        request.attributes.put(NL80211_ATTR_IFINDEX, index)
        return request
    }

    @discardableResult
    func attempt(
        _ what: String, _ request: NetlinkRequest, isDump: Bool = false, onPart: (NetlinkMessage) -> Void = { _ in }
    ) -> Bool {
        do throws(DongleError) {
            try conversation.ask(request, isDump: isDump, attempting: what, onPart: onPart)
            return true
        } catch {
            log.log("\(error)")
            return false
        }
    }
}
