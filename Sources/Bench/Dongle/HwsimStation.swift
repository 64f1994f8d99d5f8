import AgentModel
import CNetlink
import Glibc
import Linux
import Netlink

/// The hidden station: a mac80211_hwsim station in a separate network namespace, operated over nl80211. It carries out
/// the firmware's orders on a separate thread, because its requests wait for kernel locks.
final class HwsimStation: HwsimInterface {
    let address: BSSID
    private let interface: String
    let index: UInt32
    let family: UInt16
    let conversation: NetlinkConversation
    private let newsSocket: NetlinkConversation
    private let frames: FrameSocket
    let log: DongleLog
    private var channels: Set<Frequency> = []
    private var scan: RunningScan?
    private var link = LinkState.none {
        didSet { query = nil }
    }
    private var query: AssociationQuery?
    private var hasJoinedAgain = false

    private enum LinkState: Equatable {
        case none
        /// The station scans for the access point. The host authenticates afterwards.
        case looking(JoinOrder)
        case authenticating(JoinOrder, AirBSS)
        case joining(JoinOrder)
        case linked(BSSID)
    }

    private struct RunningScan {
        /// Number of the firmware's scan; 0 for a scan that the station starts for a join.
        let number: UInt32
        let order: FirmwareScanOrder
        let started: Instant
        /// SSIDs for the remaining rounds, at most four in each, because the radio accepts four at a time.
        var rounds: ArraySlice<[SSID?]>
    }

    private static let namesAtOnce = 4

    /// - Parameter interface: name of an interface that is up in the calling thread's network namespace.
    init(interface: String, frames: FrameSocket, log: DongleLog) throws(DongleError) {
        (self.frames, self.log, self.interface) = (frames, log, interface)
        index = UInt32(clamping: if_nametoindex(interface))
        guard index != 0 else { throw .missing("interface \(interface)") }
        conversation = try NetlinkConversation()
        newsSocket = try NetlinkConversation()
        var found: GenericNetlinkFamily?
        try conversation.ask(.init(familyNamed: "nl80211"), attempting: "look up nl80211") {
            found = found ?? GenericNetlinkFamily($0)
        }
        guard let found else { throw .missing("nl80211") }
        family = found.id
        for group in ["scan", "mlme", "regulatory"] {
            guard let number = found.groups[group] else { throw .missing("multicast group \(group)") }
            try newsSocket.join(group: number)
        }
        var own: BSSID?
        var request = NetlinkRequest(family: found.id, command: UInt8(NL80211_CMD_GET_INTERFACE.rawValue))
        request.attributes.put(NL80211_ATTR_IFINDEX, index)
        try conversation.ask(request, attempting: "read \(interface)") { message in
            own = message.nl80211Attributes[NL80211_ATTR_MAC].flatMap { BSSID(bytes: $0.bytes) }
        }
        guard let own else { throw .missing("address of \(interface)") }
        address = own
        var answers = self.request(NL80211_CMD_REGISTER_FRAME)
        answers.attributes.put(NL80211_ATTR_FRAME_TYPE, UInt16(0xd0))
        answers.attributes.put(NL80211_ATTR_FRAME_MATCH, bytes: AssociationQuery.answer)
        try newsSocket.ask(answers, attempting: "receive the answers to SA queries")
        // End the link of an earlier dongle: a connected station refuses to connect.
        attempt("end an old link", self.request(NL80211_CMD_DISCONNECT))
        var awake = self.request(NL80211_CMD_SET_POWER_SAVE)
        awake.attributes.put(NL80211_ATTR_PS_STATE, NL80211_PS_DISABLED.rawValue)
        attempt("switch power save off", awake)
        _ = newsSocket.news()
        readChannels()
    }

    /// File descriptor that becomes readable when the kernel reports an event of the station.
    var newsDescriptor: Int32 { newsSocket.descriptor }

    // MARK: Orders

    func perform(_ order: AirOrder) -> [AirEvent] {
        switch order {
        case .scan(let number, let order):
            endScan()
            return begin(order, number: number)
        case .abortScan: if scan?.number != 0 { endScan() }
        case .join(let order):
            hasJoinedAgain = false
            return join(order)
        case .authenticate(let frame): return authenticate(frame)
        case .associate: return associate()
        case .leave(let reason): leave(reason: reason)
        case .key(let key): set(key)
        case .authorise(let station, let isAuthorised):
            var request = request(NL80211_CMD_SET_STATION)
            let flag: UInt32 = 1 << NL80211_STA_FLAG_AUTHORIZED.rawValue
            var flags: [UInt8] = []
            flags.append(little: flag)
            flags.append(little: isAuthorised ? flag : 0)
            request.attributes.put(NL80211_ATTR_MAC, bytes: station.bytes)
            request.attributes.put(NL80211_ATTR_STA_FLAGS2, bytes: flags)
            attempt("authorise the station", request)
        case .send(let frame): frames.send(frame)
        case .accessPoint(let action): perform(action)
        }
        return []
    }

    // MARK: The access point

    private(set) var accessPoint: HwsimAccessPoint?

    private func perform(_ action: AccessPointAction) {
        switch action {
        case .start(let order):
            stopAccessPoint()
            do throws(DongleError) {
                if order.isInsteadOfStation { try InterfaceSwitch.setUp(interface, false) }
                accessPoint = try HwsimAccessPoint(
                    order, besides: index, family: family, conversation: conversation, log: log)
            } catch {
                log.log("\(error)")
            }
        case .stop: stopAccessPoint()
        default: accessPoint?.perform(action)
        }
    }

    private func stopAccessPoint() {
        guard let point = accessPoint else { return }
        point.end()
        accessPoint = nil
        guard point.order.isInsteadOfStation else { return }
        do throws(DongleError) { try InterfaceSwitch.setUp(interface, true) } catch { log.log("\(error)") }
    }

    private func begin(_ order: FirmwareScanOrder, number: UInt32) -> [AirEvent] {
        let names = order.ssids
        let rounds = stride(from: 0, to: max(names.count, 1), by: Self.namesAtOnce).map { start in
            Array(names.dropFirst(start).prefix(Self.namesAtOnce))
        }
        scan = RunningScan(number: number, order: order, started: .now, rounds: rounds[...])
        return nextRound()
    }

    private func nextRound() -> [AirEvent] {
        guard let running = scan, let names = running.rounds.first else { return [] }
        scan?.rounds = running.rounds.dropFirst()
        var request = request(NL80211_CMD_TRIGGER_SCAN)
        let wanted = running.order.channels.compactMap(\.frequency)
        // Leave out unknown frequencies: the kernel refuses a scan with such a frequency.
        let offered = wanted.isEmpty ? Array(channels).sorted() : wanted.filter(channels.contains)
        request.attributes.putNested(NL80211_ATTR_SCAN_FREQUENCIES) { list in
            for (number, frequency) in offered.enumerated() { list.put(number + 1, UInt32(frequency.megahertz)) }
        }
        if !names.isEmpty {
            request.attributes.putNested(NL80211_ATTR_SCAN_SSIDS) { list in
                for (number, name) in names.enumerated() { list.put(number + 1, bytes: name?.bytes ?? []) }
            }
        }
        log.log("scan \(running.number): \(offered.count) channels, \(names.count) names")
        if attempt("scan", request) { return [] }
        scan = nil
        return ended(running, [.scanFailed(running.number)])
    }

    private func endScan() {
        guard scan != nil else { return }
        scan = nil
        guard attempt("abort a scan", request(NL80211_CMD_ABORT_SCAN)) else { return }
        let end = Instant.now + .seconds(1)
        while .now < end {
            _ = Readiness.readable.wait(on: newsDescriptor, within: end - .now)
            // Keep messages about a link. Drop messages about scans, which concern the aborted scan.
            let news = newsSocket.news()
            waitingNews += news.filter { !Self.isScanEnd($0) }
            if news.contains(where: Self.isScanEnd) { return }
        }
    }

    private var waitingNews: [NetlinkMessage] = []

    private static func isScanEnd(_ message: NetlinkMessage) -> Bool {
        [NL80211_CMD_NEW_SCAN_RESULTS, NL80211_CMD_SCAN_ABORTED].contains {
            message.payload.first == UInt8($0.rawValue)
        }
    }

    private func join(_ order: JoinOrder) -> [AirEvent] {
        if link != .none { leave(reason: 3) }
        let channel = order.channel?.frequency.map { "\($0)" } ?? "any channel"
        log.log("join \(order.ssid), \(order.bssid.map { "\($0)" } ?? "any access point"), \(channel)")
        guard !order.isAuthenticatedByHost else { return look(for: order) }
        var request = request(NL80211_CMD_CONNECT)
        request.attributes.put(NL80211_ATTR_SSID, bytes: order.ssid.bytes)
        if let bssid = order.bssid { request.attributes.put(NL80211_ATTR_MAC, bytes: bssid.bytes) }
        if let frequency = order.channel?.frequency {
            request.attributes.put(NL80211_ATTR_WIPHY_FREQ, UInt32(frequency.megahertz))
        }
        request.attributes.put(NL80211_ATTR_AUTH_TYPE, NL80211_AUTHTYPE_OPEN_SYSTEM.rawValue)
        putSecurity(of: order, in: &request)
        guard attempt("connect", request) else { return [.joinFailed(order.bssid, isAbsent: true)] }
        link = .joining(order)
        return []
    }

    private func putSecurity(of order: JoinOrder, adding element: [UInt8] = [], in request: inout NetlinkRequest) {
        if !order.security.isEmpty {
            request.attributes.put(NL80211_ATTR_IE, bytes: order.security + element)
            request.attributes.putFlag(NL80211_ATTR_PRIVACY)
            // Let only frames of the key handshake pass until the port is authorised.
            request.attributes.putFlag(NL80211_ATTR_CONTROL_PORT)
        }
        if let suites = SecuritySuites(order.security[...]) {
            request.attributes.put(NL80211_ATTR_WPA_VERSIONS, NL80211_WPA_VERSION_2.rawValue)
            request.attributes.put(NL80211_ATTR_CIPHER_SUITE_GROUP, suites.group)
            request.attributes.put(NL80211_ATTR_CIPHER_SUITES_PAIRWISE, suites.pairwise)
            request.attributes.put(NL80211_ATTR_AKM_SUITES, suites.keyManagement)
            let other = known { $0.bssid == order.bssid }.first?.element(Elements.rsn)
            if suites.canProtectFrames, other.flatMap(SecuritySuites.init(body:))?.canProtectFrames == true {
                request.attributes.put(NL80211_ATTR_USE_MFP, NL80211_MFP_REQUIRED.rawValue)
            }
        }
    }

    // MARK: Joins with authentication by the host

    /// Looks for the access point. Starts a scan unless it was seen recently.
    private func look(for order: JoinOrder) -> [AirEvent] {
        link = .looking(order)
        // If a scan is running, its end also looks for the access point.
        guard scan == nil else { return [] }
        return found(order) ?? begin(FirmwareScanOrder(for: order.ssid, on: order.channel), number: 0)
    }

    /// Asks the host to authenticate. Returns nil if the access point is unknown.
    private func found(_ order: JoinOrder) -> [AirEvent]? {
        guard let bss = access(of: order) else { return nil }
        link = .authenticating(order, bss)
        return [.authenticationWanted(bss)]
    }

    private func access(of order: JoinOrder) -> AirBSS? {
        known { bss in
            bss.element(Elements.ssid).map(Array.init) == order.ssid.bytes && bss.lastSeen >= .now - Self.memory
                && (order.bssid.map { $0 == bss.bssid } ?? true)
                && (order.channel.map { $0.frequency == bss.frequency } ?? true)
        }.max { $0.signal < $1.signal }
    }

    /// Maximum age of a usable scan result. The kernel drops results after 30 s.
    private static let memory = Duration.seconds(20)

    /// Handles the end of a scan.
    /// - Parameter events: events to report if the firmware ordered the scan.
    private func ended(_ scan: RunningScan, _ events: [AirEvent]) -> [AirEvent] {
        guard case .looking(let order) = link else { return events }
        guard scan.number == 0 else { return events + look(for: order) }
        if let events = found(order) { return events }
        link = .none
        return [.joinFailed(order.bssid, isAbsent: true)]
    }

    private func authenticate(_ frame: AuthenticationFrame) -> [AirEvent] {
        guard case .authenticating(let order, let bss) = link, bss.bssid == frame.accessPoint else { return [] }
        var request = request(NL80211_CMD_AUTHENTICATE, with: bss, of: order)
        request.attributes.put(NL80211_ATTR_AUTH_TYPE, NL80211_AUTHTYPE_SAE.rawValue)
        // The data starts with the transaction number, after the algorithm.
        request.attributes.put(NL80211_ATTR_AUTH_DATA, bytes: Array(frame.body.dropFirst(2)))
        log.log("authentication, transaction \(frame.body[...].little(2, as: UInt16.self) ?? 0)")
        return attempt("authenticate", request) ? [] : [failed(bss)]
    }

    private func associate() -> [AirEvent] {
        guard case .authenticating(let order, let bss) = link else { return [] }
        var request = request(NL80211_CMD_ASSOCIATE, with: bss, of: order)
        // The driver passes on one element only. Add another one, as wpa_supplicant does with `sae_pwe` 2: it announces
        // hash-to-element (IEEE 802.11-2020, 9.4.2.241).
        let canHash = bss.element(Elements.rsnExtension)?.first.map { $0 & 0x20 != 0 } ?? false
        putSecurity(of: order, adding: canHash ? [Elements.rsnExtension, 1, 0x20] : [], in: &request)
        guard attempt("associate", request) else { return [failed(bss)] }
        link = .joining(order)
        return []
    }

    private func request(_ command: nl80211_commands, with bss: AirBSS, of order: JoinOrder) -> NetlinkRequest {
        var request = request(command)
        request.attributes.put(NL80211_ATTR_MAC, bytes: bss.bssid.bytes)
        request.attributes.put(NL80211_ATTR_SSID, bytes: order.ssid.bytes)
        request.attributes.put(NL80211_ATTR_WIPHY_FREQ, UInt32(bss.frequency.megahertz))
        return request
    }

    private func failed(_ bss: AirBSS) -> AirEvent {
        link = .none
        return .joinFailed(bss.bssid, isAbsent: true)
    }

    private func authenticated(_ attributes: Attributes) -> AirEvent? {
        guard case .authenticating(_, let bss) = link else { return nil }
        guard attributes[NL80211_ATTR_TIMED_OUT] == nil else {
            log.log("no answer to an authentication frame")
            return failed(bss)
        }
        guard let frame = attributes[NL80211_ATTR_FRAME].map({ Array($0.bytes) }),
            frame[...].bytes(10, 6) == bss.bssid.bytes[...]
        else { return nil }
        return .authenticationFrame(frame, bss)
    }

    private func leave(reason: UInt16) {
        guard link != .none else { return }
        var request = request(NL80211_CMD_DISCONNECT)
        if case .looking = link, scan?.number == 0 { endScan() }
        if case .authenticating(_, let bss) = link {
            request = self.request(NL80211_CMD_DEAUTHENTICATE)
            request.attributes.put(NL80211_ATTR_MAC, bytes: bss.bssid.bytes)
        }
        link = .none
        request.attributes.put(NL80211_ATTR_REASON_CODE, reason)
        attempt("disconnect", request)
        // Discard earlier messages about the link, because they concern the old link.
        waitingNews = (waitingNews + newsSocket.news()).filter(Self.isScanEnd)
    }

    private func set(_ key: KeyOrder) {
        attempt(
            key.key.isEmpty ? "delete key \(key.index)" : "set key \(key.index)",
            key.request(family: family, interface: index))
    }

    // MARK: Messages of the kernel

    func readNews() -> [AirEvent] {
        let news = waitingNews + newsSocket.news()
        waitingNews = []
        return news.flatMap(events) + (accessPoint?.readRequests() ?? [])
    }

    private func events(of message: NetlinkMessage) -> [AirEvent] {
        let attributes = message.nl80211Attributes
        guard let command = message.payload.first.map({ nl80211_commands(UInt32($0)) }) else { return [] }
        if command == NL80211_CMD_REG_CHANGE || command == NL80211_CMD_WIPHY_REG_CHANGE { readChannels() }
        guard attributes[NL80211_ATTR_IFINDEX]?.number(as: UInt32.self) == index else { return [] }
        switch command {
        case NL80211_CMD_NEW_SCAN_RESULTS:
            guard let scan else { return [] }
            guard scan.rounds.isEmpty else { return nextRound() }
            self.scan = nil
            return ended(scan, [.scanned(scan.number, results(of: scan))])
        case NL80211_CMD_SCAN_ABORTED:
            guard let scan else { return [] }
            self.scan = nil
            return ended(scan, [.scanFailed(scan.number)])
        case NL80211_CMD_AUTHENTICATE: return [authenticated(attributes)].compactMap(\.self)
        case NL80211_CMD_ASSOCIATE:
            // Ignore the message if there was an answer, because CONNECT reports each answer.
            guard case .joining(let order) = link, attributes[NL80211_ATTR_TIMED_OUT] != nil else { return [] }
            link = .none
            return [.joinFailed(order.bssid, isAbsent: true)]
        case NL80211_CMD_DEAUTHENTICATE:
            // hostapd forgets a station five seconds after a refusal, also during the next join. Firmware tries again.
            let frame = ManagementFrame(attributes[NL80211_ATTR_FRAME]?.bytes ?? [])
            guard case .joining(let order) = link, let frame, frame.station != address, !hasJoinedAgain,
                !order.isAuthenticatedByHost
            else { return [] }
            hasJoinedAgain = true
            return join(order)
        case NL80211_CMD_UNPROT_DEAUTHENTICATE, NL80211_CMD_UNPROT_DISASSOCIATE:
            query = query ?? newQuery(because: attributes[NL80211_ATTR_FRAME]?.bytes ?? [])
            return []
        case NL80211_CMD_FRAME:
            if let frame = attributes[NL80211_ATTR_FRAME]?.bytes, query?.isAnswered(by: frame) ?? false { query = nil }
            return []
        case NL80211_CMD_CONNECT: return [connected(attributes)].compactMap(\.self)
        case NL80211_CMD_DISCONNECT:
            guard link != .none else { return [] }
            link = .none
            let reason = attributes[NL80211_ATTR_REASON_CODE]?.number(as: UInt16.self) ?? 0
            let isByAccessPoint = attributes[NL80211_ATTR_DISCONNECTED_BY_AP] != nil
            log.log("disconnected, reason \(reason)\(isByAccessPoint ? ", by the access point" : "")")
            return [.disconnected(reason: reason, isByAccessPoint: isByAccessPoint)]
        default: return []
        }
    }

    private func connected(_ attributes: Attributes) -> AirEvent? {
        guard case .joining(let order) = link else { return nil }
        let bssid = attributes[NL80211_ATTR_MAC].flatMap { BSSID(bytes: $0.bytes) } ?? order.bssid
        let status = attributes[NL80211_ATTR_STATUS_CODE]?.number(as: UInt16.self) ?? 0
        log.log("join ended with status \(status)")
        guard status == 0, let bssid, let bss = known(where: { $0.bssid == bssid }).first else {
            link = .none
            return .joinFailed(bssid, isAbsent: attributes[NL80211_ATTR_TIMED_OUT] != nil)
        }
        link = .linked(bssid)
        (awaitsBeacon, countBefore) = (true, nil)
        let elements = [NL80211_ATTR_REQ_IE, NL80211_ATTR_RESP_IE].map { attributes[$0]?.bytes.prefix(500) ?? [] }
        return .joined(bss, request: Array(elements[0]), response: Array(elements[1]))
    }

    // MARK: SA query

    private func newQuery(because frame: ArraySlice<UInt8>) -> AssociationQuery? {
        guard case .linked(let bssid) = link, AssociationQuery.isOfAStranger(frame) else { return nil }
        log.log("deauthentication without protection")
        return AssociationQuery(to: bssid, at: .now)
    }

    var nextWake: Instant? { query?.nextWake }

    func tick() -> [AirEvent] {
        guard let accessPoint = query?.accessPoint, let effect = query?.tick(at: .now) else { return [] }
        switch effect {
        case .ask(let number):
            guard let bss = known(where: { $0.bssid == accessPoint }).first else { return [] }
            var request = request(NL80211_CMD_FRAME)
            request.attributes.put(NL80211_ATTR_WIPHY_FREQ, UInt32(bss.frequency.megahertz))
            request.attributes.put(
                NL80211_ATTR_FRAME, bytes: AssociationQuery.frame(number, from: address, to: accessPoint))
            attempt("ask by SA query", request)
            return []
        case .lost:
            log.log("no answer to any SA query")
            // Disconnect with reason 2: the access point no longer has the keys.
            leave(reason: 2)
            return [.disconnected(reason: 2, isByAccessPoint: true)]
        }
    }

    private func results(of scan: RunningScan) -> [AirBSS] {
        let wanted = Set(scan.order.channels.compactMap(\.frequency))
        return known { bss in
            bss.lastSeen >= scan.started - .milliseconds(8) && (wanted.isEmpty || wanted.contains(bss.frequency))
        }
    }

    private func known(where isWanted: (AirBSS) -> Bool) -> [AirBSS] {
        var list: [AirBSS] = []
        attempt("read scan results", request(NL80211_CMD_GET_SCAN), isDump: true) { message in
            if let bss = AirBSS(message, now: .now), isWanted(bss) { list.append(bss) }
        }
        return list
    }

    func measure() -> AirEvent? {
        guard case .linked(let bssid) = link else { return nil }
        var request = request(NL80211_CMD_GET_STATION)
        request.attributes.put(NL80211_ATTR_MAC, bytes: bssid.bytes)
        var answer: (figures: StationFigures, beacons: UInt64)?
        attempt("measure the link", request) { message in
            answer = answer ?? StationFigures(message).map { ($0, StationFigures.beacons(message)) }
        }
        guard var answer else { return nil }
        // Before the first beacon of a link, mac80211 (6.1) reports the previous link's average and count. Ignore them.
        if awaitsBeacon {
            awaitsBeacon = answer.beacons == countBefore ?? answer.beacons
            countBefore = awaitsBeacon ? answer.beacons : nil
            if awaitsBeacon { answer.figures.average = nil }
        }
        let isScanning = scan != nil
        var beacon: Instant?
        // During a scan, the kernel does not count beacons of the link. Use the scan result instead.
        if isScanning || wasScanning {
            beacon = known { $0.bssid == bssid }.first?.lastSeen
        } else if answer.beacons != beacons {
            beacon = .now
        }
        (wasScanning, beacons) = (isScanning, answer.beacons)
        return .measured(answer.figures, beacon: beacon)
    }

    private var beacons: UInt64 = 0
    private var wasScanning = false
    private var awaitsBeacon = false
    private var countBefore: UInt64?

    private func readChannels() {
        var request = request(NL80211_CMD_GET_WIPHY)
        request.attributes.putFlag(NL80211_ATTR_SPLIT_WIPHY_DUMP)
        var channels: Set<Frequency> = []
        attempt("read the channels", request, isDump: true) { message in
            for band in message.nl80211Attributes[NL80211_ATTR_WIPHY_BANDS]?.nested ?? Attributes([]) {
                for entry in band.value.nested[NL80211_BAND_ATTR_FREQS]?.nested ?? Attributes([]) {
                    let channel = entry.value.nested
                    guard channel[NL80211_FREQUENCY_ATTR_DISABLED] == nil,
                        let megahertz = channel[NL80211_FREQUENCY_ATTR_FREQ]?.count(as: UInt32.self)
                    else { continue }
                    channels.insert(Frequency(megahertz: megahertz))
                }
            }
        }
        self.channels = channels
    }
}

extension NetlinkRequest {
    init(familyNamed name: String) { self = GenericNetlinkFamily.request(named: name) }
}

extension AirBSS {
    init?(_ message: NetlinkMessage, now: Instant) {
        guard let entry = message.nl80211Attributes[NL80211_ATTR_BSS]?.nested,
            let bssid = entry[NL80211_BSS_BSSID].flatMap({ BSSID(bytes: $0.bytes) }),
            let megahertz = entry[NL80211_BSS_FREQUENCY]?.count(as: UInt32.self)
        else { return nil }
        let age = entry[NL80211_BSS_SEEN_MS_AGO]?.number(as: UInt32.self) ?? 0
        self.init(
            bssid: bssid, frequency: Frequency(megahertz: megahertz),
            signal: (entry[NL80211_BSS_SIGNAL_MBM]?.number(as: Int32.self)).map { Int($0) / 100 } ?? AirBSS.noise,
            beaconInterval: entry[NL80211_BSS_BEACON_INTERVAL]?.number() ?? 100,
            capability: entry[NL80211_BSS_CAPABILITY]?.number() ?? 0, lastSeen: now - .milliseconds(Int64(age)),
            elements: (entry[NL80211_BSS_INFORMATION_ELEMENTS]?.bytes).map(Array.init) ?? [])
    }
}

extension StationFigures {
    fileprivate static func beacons(_ message: NetlinkMessage) -> UInt64 {
        message.nl80211Attributes[NL80211_ATTR_STA_INFO]?.nested[NL80211_STA_INFO_BEACON_RX]?.number() ?? 0
    }

    init?(_ message: NetlinkMessage) {
        guard let info = message.nl80211Attributes[NL80211_ATTR_STA_INFO]?.nested else { return nil }
        func signal(_ attribute: nl80211_sta_info) -> Int? { info[attribute]?.number(as: Int8.self).map(Int.init) }
        func rate(_ attribute: nl80211_sta_info) -> Int {
            Int(info[attribute]?.nested[NL80211_RATE_INFO_BITRATE]?.number(as: UInt16.self) ?? 0) * 100
        }
        self.signal = signal(NL80211_STA_INFO_SIGNAL)
        let beacons = Self.beacons(message) > 0 ? signal(NL80211_STA_INFO_BEACON_SIGNAL_AVG) : nil
        average = beacons ?? signal(NL80211_STA_INFO_SIGNAL_AVG)
        inactive = .milliseconds(Int64(info[NL80211_STA_INFO_INACTIVE_TIME]?.number(as: UInt32.self) ?? 0))
        connected = .seconds(Int64(info[NL80211_STA_INFO_CONNECTED_TIME]?.number(as: UInt32.self) ?? 0))
        framesSent = info[NL80211_STA_INFO_TX_PACKETS]?.number() ?? 0
        framesFailed = info[NL80211_STA_INFO_TX_FAILED]?.number() ?? 0
        framesReceived = info[NL80211_STA_INFO_RX_PACKETS]?.number() ?? 0
        bytesSent = info[NL80211_STA_INFO_TX_BYTES64]?.number() ?? 0
        bytesReceived = info[NL80211_STA_INFO_RX_BYTES64]?.number() ?? 0
        transmitRate = rate(NL80211_STA_INFO_TX_BITRATE)
        receiveRate = rate(NL80211_STA_INFO_RX_BITRATE)
    }
}
