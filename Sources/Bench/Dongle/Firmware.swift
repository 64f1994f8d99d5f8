import AgentModel

/// State and decisions of the dongle's firmware, as a value. It handles commands, events of the hidden radio and time.
/// It returns answers, events for the driver and orders for the hidden station.
///
/// The firmware answers each command at once, without asking the station: the driver waits with kernel locks that the
/// station's requests need.
struct Firmware {
    let address: BSSID
    var faults = RadioFaults()

    var phase = Phase.idle
    private(set) var scan: Scan?
    private(set) var country = "00"
    private(set) var beaconTimeout = Duration.seconds(8)
    private var plan = ChannelPlan(country: "00")
    private var scanTimes = ScanTimes()
    private var variables: [String: UInt32] = [:]
    private var securityElement: [UInt8] = []
    private var eventMask: [UInt8] = []
    private var signalLevels = SignalLevels([])
    private var powerSave = PowerSave()
    private var lastScan: UInt32 = 0
    private var roaming = Roaming()
    var accessPoint: SoftAccessPoint?
    var direct: DirectDevice?

    enum Phase: Equatable {
        case idle
        case joining(JoinOrder)
        case linked(Link)
        /// The firmware is roaming to another access point of the network.
        case roaming(from: BSSID, JoinOrder)
    }

    struct Link: Equatable {
        var bss: AirBSS
        let order: JoinOrder
        let request: [UInt8]
        let response: [UInt8]
        var figures = StationFigures()
        /// Time of the last received beacon. The firmware reports a loss `beaconTimeout` after it.
        var lastBeacon: Instant
    }

    struct Scan: Equatable {
        /// Sequence number of the scan. Results with another number belong to earlier scans and are ignored.
        let number: UInt32
        let order: FirmwareScanOrder
        let due: Instant
        var found: [AirBSS]?
    }

    enum Effect: Equatable {
        case event(FirmwareEvent)
        case order(AirOrder)
    }

    init(address: BSSID) { self.address = address }

    var link: Link? {
        guard case .linked(let link) = phase else { return nil }
        return link
    }

    /// Reloads the firmware. Drops all state that the driver has set, and the fault `hangs`.
    mutating func restart() -> [Effect] {
        let access: [Effect] = accessPoint?.ssid == nil ? [] : [.order(.accessPoint(.stop))]
        let effects: [Effect] = [.order(.abortScan), .order(.leave(reason: 3))] + access
        let (number, faults) = (lastScan, faults)
        self = Firmware(address: address)
        (lastScan, self.faults) = (number, faults)
        self.faults.hangs = false
        return effects
    }

    // MARK: Commands

    /// Carries out a command. An unknown command succeeds if it sets a value; otherwise the firmware refuses it.
    mutating func perform(_ command: FirmwareCommand, at now: Instant) -> (FirmwareAnswer, [Effect]) {
        do throws(DongleError) {
            if let outcome = try performForAccessPoint(command, at: now) { return outcome }
            if let outcome = try performForDirect(command, at: now) { return outcome }
            // Accept other settings of further interfaces without effect.
            if command.interface != 0, command.isSet { return (.done, []) }
            switch (command.subject, command.isSet) {
            case (.number(let number), _): return try perform(number, command)
            case (.variable(let name), true): return try set(name, command.argument, at: now)
            case (.variable(let name), false): return (value(of: name, command), [])
            }
        } catch {
            return (.refused(.badArgument), [])
        }
    }

    private mutating func perform(
        _ number: UInt32, _ command: FirmwareCommand
    ) throws(DongleError) -> (FirmwareAnswer, [Effect]) {
        let argument = command.argument
        switch number {
        case Command.version: return (.number(2), [])
        case Command.channel: return (.number(currentChannel), [])
        case Command.bssid: return (link.map { .data($0.bss.bssid.bytes) } ?? .refused(.notAssociated), [])
        case Command.setSSID: return (.done, begin(try JoinOrder(argument, .setSSID)))
        case Command.scan: return (.done, abortScan())
        case Command.disassociate: return (.done, leave(reason: argument.little(0) ?? UInt32(3)))
        case Command.getPowerSave: return (.number(powerSave.mode.rawValue), [])
        case Command.setPowerSave:
            guard let mode = argument.little(0).flatMap(PowerSave.Mode.init(rawValue:)) else {
                throw .malformed("power save")
            }
            powerSave.mode = mode
        case Command.revision: return (.data(Self.revision), [])
        case Command.authorise, Command.deauthorise:
            guard let station = argument.bytes(0, 6).flatMap({ BSSID(bytes: $0) }) else {
                throw .malformed("station to authorise")
            }
            return (.done, [.order(.authorise(station, number == Command.authorise))])
        case Command.signal: return (.number(link?.figures.signal ?? link?.bss.signal ?? 0), [])
        case Command.bssInfo: return (bssInfo(command.outputLength), [])
        case Command.bands: return (.data(Self.numbers([2, 1, 2])), [])
        case Command.stations: return (.data(Self.numbers([link == nil ? 0 : 1]) + (link?.bss.bssid.bytes ?? [])), [])
        case Command.roamTrigger: roaming.trigger = Int(argument.little(0, as: Int32.self) ?? -75)
        case Command.roamDelta: roaming.delta = Int(argument.little(0, as: Int32.self) ?? 20)
        case Command.activeTime: scanTimes.active = try Self.milliseconds(argument)
        case Command.passiveTime: scanTimes.passive = try Self.milliseconds(argument)
        default: return (command.isSet ? .done : .refused(.unsupported), [])
        }
        return (.done, [])
    }

    private enum Command {
        static let version: UInt32 = 1
        static let bssid: UInt32 = 23
        static let setSSID: UInt32 = 26
        static let channel: UInt32 = 29
        static let scan: UInt32 = 50
        static let disassociate: UInt32 = 52
        static let roamTrigger: UInt32 = 55
        static let roamDelta: UInt32 = 57
        static let getPowerSave: UInt32 = 85
        static let setPowerSave: UInt32 = 86
        static let revision: UInt32 = 98
        static let authorise: UInt32 = 121
        static let deauthorise: UInt32 = 122
        static let signal: UInt32 = 127
        static let bssInfo: UInt32 = 136
        static let bands: UInt32 = 140
        static let stations: UInt32 = 159
        static let activeTime: UInt32 = 185
        static let passiveTime: UInt32 = 258
    }

    /// IDs of the device: Broadcom's vendor ID, and chip 4345 revision 6, which is the Raspberry Pi's 43455.
    private static let revision = numbers([
        0x14e4, 0x43ab, 0x2055, 6, 54, 0x06e4, 0x14e4, 0x1304, 0x72d_2d00, 0, 0, 0x4345, 11, 20, 0, 2, 0,
    ])

    static func numbers(_ list: [UInt32]) -> [UInt8] { list.reduce(into: []) { $0.append(little: $1) } }

    private static func milliseconds(_ argument: ArraySlice<UInt8>) throws(DongleError) -> Int {
        guard let time = argument.little(0, as: UInt32.self), (1...10_000).contains(time) else {
            throw .malformed("time in milliseconds")
        }
        return Int(time)
    }

    private func bssInfo(_ length: Int) -> FirmwareAnswer {
        guard let link else { return .refused(.notAssociated) }
        var bss = link.bss
        bss.signal = link.figures.average ?? bss.signal
        let record = bss.record
        guard length >= record.count + 4 else { return .refused(.bufferTooShort) }
        return .data(Self.numbers([UInt32(record.count + 4)]) + record)
    }

    // MARK: Variables

    private mutating func set(
        _ name: String, _ argument: ArraySlice<UInt8>, at now: Instant
    ) throws(DongleError) -> (FirmwareAnswer, [Effect]) {
        if let outcome = try setForAuthentication(name, argument) { return outcome }
        switch name {
        case "escan":
            return try performScan(argument, at: now)
        case "join": return (.done, begin(try JoinOrder(argument, .join)))
        case "wsec_key": return (.done, [.order(.key(try KeyOrder(argument)))])
        case "wpaie": securityElement = Array(argument.prefix(257))
        case "event_msgs": eventMask = Array(argument.prefix(32))
        case "event_msgs_ext": eventMask = try Self.longMask(argument)
        case "rssi_event": signalLevels = try SignalLevels(argument)
        case "pm2_sleep_ret": powerSave.sleepAfter = .milliseconds(try Self.milliseconds(argument))
        case "bcn_timeout":
            guard let seconds = argument.little(0, as: UInt32.self), (1...60).contains(seconds) else {
                throw .malformed("beacon time-out")
            }
            beaconTimeout = .seconds(Int(seconds))
        case "country":
            // The argument has abbreviation, revision, and code of the country.
            let letters = argument.bytes(8, 2).map { String(decoding: $0, as: UTF8.self) } ?? ""
            guard letters.utf8.allSatisfy({ (0x30...0x5a).contains($0) }) else { throw .malformed("country") }
            country = letters
            plan = ChannelPlan(country: letters)
        case "sup_wpa": return (.refused(.unsupported), [])
        default:
            // Remember only values that the driver reads back.
            if let number = argument.little(0, as: UInt32.self), Self.remembered.contains(name) {
                variables[name] = number
            }
        }
        return (.done, [])
    }

    /// Parses the event mask of brcmfmac's module for Cypress: version 1, "set", length, one unused byte, mask.
    private static func longMask(_ argument: ArraySlice<UInt8>) throws(DongleError) -> [UInt8] {
        guard argument.prefix(2).elementsEqual([1, 3]), let length = argument.little(2, as: UInt8.self),
            let mask = argument.bytes(4, Int(length))
        else { throw .malformed("mask of events") }
        return Array(mask)
    }

    private static let remembered: Set = ["wpa_auth", "auth", "wsec", "mfp", "mpc", "roam_off", "tdls_enable", "pfn"]

    private func value(of name: String, _ command: FirmwareCommand) -> FirmwareAnswer {
        switch name {
        case "cur_etheraddr": return .data(address.bytes)
        case "cap": return .data(Array(Self.capabilities.utf8))
        case "ver": return .data(Array(Self.version.utf8))
        case "clmver": return .data(Array("API: 12.2 Data: 9.10.39 Compiler: 1.29.4 emulated\n".utf8))
        case "event_msgs": return .data(eventMask)
        case "pfn_macaddr": return .done
        case "vhtmode", "nmode", "rxchain", "txstreams": return .number(1)
        case "txbf_bfe_cap", "txbf_bfr_cap": return .number(0)
        // The answer is 20 and 40 MHz on 2.4 GHz (band 2), and also 80 MHz on 5 GHz.
        case "bw_cap": return .number(command.argument.little(0, as: UInt32.self) == 2 ? 3 : 7)
        // With an argument, the driver asks for channels of another width, which this firmware does not have.
        case "chanspecs":
            return .data(command.argument.little(0, as: UInt16.self) ?? 0 == 0 ? plan.list : Self.numbers([0]))
        case "per_chan_info":
            let channel = ChannelSpec(value: command.argument.little(0) ?? 0)
            return .number(plan.flags(of: channel))
        case "chanspec": return .number(ownChannel)
        case "qtxpower": return .number(31 * 4)
        case "country":
            let letters = Array(country.utf8).resized(to: 4)
            return .data(letters + [0, 0, 0, 0] + letters)
        case "assoc_info":
            return .data(Self.numbers([UInt32(link?.request.count ?? 0), UInt32(link?.response.count ?? 0)]))
        case "assoc_req_ies": return .data(link?.request ?? [])
        case "assoc_resp_ies": return .data(link?.response ?? [])
        case "wme_ac_sta": return .data(Self.accessCategories)
        case "sta_info":
            guard let link else { return .refused(.notAssociated) }
            return .data(link.figures.record(of: link.bss.bssid))
        default:
            guard Self.remembered.contains(name) else { return .refused(.unsupported) }
            return .number(variables[name] ?? 0)
        }
    }

    /// Channel of the link. Without a link it is channel 1, because the kernel requires a channel for an interface.
    var ownChannel: UInt16 { link.flatMap { ChannelSpec($0.bss.frequency)?.value } ?? 0x1001 }

    private var currentChannel: UInt16 {
        guard case .joining(let order) = phase, let channel = order.channel else { return ownChannel & 0xff }
        return channel.value & 0xff
    }

    /// Capabilities from which the driver derives features. "sae_ext" means SAE by the host; SAE by the firmware would
    /// be "sae".
    private static let capabilities = """
        ap sta wme 802.11d 802.11h rm cqa cac dualband ampdu ampdu_tx ampdu_rx amsdurx tdls radio_pwrsave btamp p2p \
        proptxstatus mchan p2po anqpo vht-prop-rates dfrts wnm bsstrans mfp ndoe sae_ext \

        """
    private static let version = "wl0: Nov  1 2021 00:37:25 version 7.45.241 (emulated) FWID 01-703fd60\n"
    /// Parameters of the access categories, in four records: best effort, background, video, voice.
    private static let accessCategories: [UInt8] = [
        0x03, 0xa4, 0, 0, 0x27, 0xa4, 0, 0, 0x42, 0x43, 0x5e, 0, 0x62, 0x32, 0x2f, 0,
    ]

    // MARK: Scans and joins

    mutating func performScan(
        _ argument: ArraySlice<UInt8>, at now: Instant
    ) throws(DongleError) -> (FirmwareAnswer, [Effect]) {
        switch try FirmwareScanOrder.Action(argument) {
        case .abort: return (.done, abortScan())
        case .start where faults.refusesScans: return (.refused(.busy), [])
        case .start: return (.done, begin(try FirmwareScanOrder(argument), at: now))
        }
    }

    private mutating func begin(_ order: FirmwareScanOrder, at now: Instant) -> [Effect] {
        lastScan &+= 1
        roaming.search = nil
        scan = Scan(number: lastScan, order: order, due: now + scanTimes.duration(of: order, in: plan))
        return [.order(.scan(lastScan, order))]
    }

    private mutating func abortScan() -> [Effect] {
        guard let scan else { return [] }
        self.scan = nil
        return [.order(.abortScan), .event(Self.end(of: scan, .aborted))]
    }

    private static func end(of scan: Scan, _ status: FirmwareEvent.Status) -> FirmwareEvent {
        FirmwareEvent(code: .scanResult, status: status, data: AirBSS.scanEnd(syncID: scan.order.syncID))
    }

    private mutating func begin(_ order: JoinOrder) -> [Effect] {
        var order = order
        order.security = securityElement
        phase = .joining(order)
        return suspendAccessPoint(for: order) + [.order(.join(order))]
    }

    mutating func leave(reason: UInt32) -> [Effect] {
        phase = .idle
        return [.order(.leave(reason: UInt16(clamping: reason)))]
    }

    /// Ends the station's link because an access point replaces the station.
    mutating func leaveForAccessPoint() -> [Effect] { phase == .idle ? [] : leave(reason: 3) }

    // MARK: Events of the hidden radio

    mutating func handle(_ event: AirEvent, at now: Instant) -> [Effect] {
        switch event {
        case .scanned(let number, let found) where number == roaming.search: return roam(among: found)
        case .scanned(let number, let found):
            guard scan?.number == number else { return [] }
            scan?.found = found
        case .scanFailed(let number) where number == roaming.search: roaming.search = nil
        case .scanFailed(let number):
            guard let scan, scan.number == number, !faults.hasEndlessScans else { return [] }
            self.scan = nil
            return [.event(Self.end(of: scan, .failed))]
        case .authenticationWanted(let bss): return authenticate(bss)
        case .authenticationFrame(let frame, let bss):
            guard case .joining = phase else { return [] }
            return [.event(.authenticationFrame(frame, from: bss))]
        case .joined(let bss, let request, let response):
            return joined(bss, request: request, response: response, at: now)
        case .joinFailed(let bssid, let isAbsent):
            defer { phase = .idle }
            switch phase {
            case .joining:
                return endJoin(of: bssid, isAbsent ? .noNetworks : .failed)
            case .roaming(let old, _): return [.event(FirmwareEvent(code: .link, reason: 1, address: old))]
            case .idle, .linked: return []
            }
        // Ignore a beacon loss that the hidden station reports, because the firmware counts beacons.
        case .disconnected(let reason, let isByAccessPoint):
            guard isByAccessPoint, let link else { return [] }
            phase = .idle
            return [
                .event(FirmwareEvent(code: .deauthenticated, reason: UInt32(reason), address: link.bss.bssid))
            ]
        case .measured(let figures, let beacon): measured(figures, beacon: beacon)
        case .stationJoined(let station, let elements, let isAgain):
            return stationJoined(station, elements: elements, isAgain: isAgain, at: now)
        case .stationLeft(let station, let reason): return stationLeft(station, reason: reason)
        }
        return tick(at: now)
    }

    mutating func endJoin(of bssid: BSSID?, _ status: FirmwareEvent.Status) -> [Effect] {
        [.event(FirmwareEvent(code: .setSSID, status: status, address: bssid))] + resumeAccessPoint()
    }

    private mutating func joined(
        _ bss: AirBSS, request: [UInt8], response: [UInt8], at now: Instant
    ) -> [Effect] {
        let order: JoinOrder
        let events: [FirmwareEvent]
        switch phase {
        case .joining(let wanted):
            order = wanted
            events = [
                FirmwareEvent(code: .link, flags: 1, address: bss.bssid),
                FirmwareEvent(code: .setSSID, address: bss.bssid),
            ]
        case .roaming(_, let wanted):
            order = wanted
            events = [FirmwareEvent(code: .roamed, address: bss.bssid)]
        case .idle, .linked: return []
        }
        phase = .linked(Link(bss: bss, order: order, request: request, response: response, lastBeacon: now))
        signalLevels.forget()
        powerSave.wake(at: now)
        return events.map { .event($0) } + resumeAccessPoint()
    }

    /// Roams to the network's strongest other access point if it is stronger by at least `roaming.delta`.
    private mutating func roam(among found: [AirBSS]) -> [Effect] {
        roaming.search = nil
        // The firmware cannot roam if the host performs SAE.
        guard let link, !link.order.isAuthenticatedByHost, let signal = link.figures.average else { return [] }
        let others = found.filter { bss in
            bss.bssid != link.bss.bssid && bss.element(Elements.ssid).map(Array.init) == link.order.ssid.bytes
                && bss.signal >= signal + roaming.delta
        }
        guard let best = others.max(by: { $0.signal < $1.signal }) else { return [] }
        var order = link.order
        (order.bssid, order.channel) = (best.bssid, ChannelSpec(best.frequency))
        phase = .roaming(from: link.bss.bssid, order)
        return [.order(.join(order))]
    }

    private mutating func measured(_ figures: StationFigures, beacon: Instant?) {
        guard case .linked(var link) = phase else { return }
        if let beacon { link.lastBeacon = max(link.lastBeacon, beacon) }
        link.figures = figures
        phase = .linked(link)
    }

    mutating func sends(at now: Instant) { powerSave.wake(at: now) }

    /// Returns the time at which a frame that the access point sends now reaches the host.
    mutating func arrival(at now: Instant) -> Instant {
        guard let link else { return now }
        // The beacon interval is in units of 1024 µs.
        let interval = Duration.microseconds(1024 * Int64(link.bss.beaconInterval))
        return powerSave.arrival(at: now, beaconsSince: link.lastBeacon, every: interval)
    }

    var nextWake: Instant? {
        let results = scan.flatMap { $0.found == nil || faults.hasEndlessScans ? nil : $0.due }
        let loss = link.map { $0.lastBeacon + beaconTimeout }
        return [results, loss, direct?.listensUntil].compactMap(\.self).min()
    }

    mutating func tick(at now: Instant) -> [Effect] {
        var effects = endListening(at: now)
        if let scan, let found = scan.found, scan.due <= now, !faults.hasEndlessScans {
            self.scan = nil
            effects += found.map { bss in
                .event(
                    FirmwareEvent(
                        code: .scanResult, status: .partial, address: bss.bssid,
                        data: bss.scanResult(syncID: scan.order.syncID)))
            }
            effects.append(.event(Self.end(of: scan, .success)))
        }
        guard let link else { return effects }
        if link.lastBeacon + beaconTimeout <= now {
            phase = .idle
            effects.append(.event(FirmwareEvent(code: .link, reason: 1, address: link.bss.bssid)))
            effects.append(.order(.leave(reason: 4)))  // Reason 4 (inactivity) for a beacon loss.
            return effects
        }
        guard let signal = link.figures.average else { return effects }
        if signalLevels.hasCrossed(signal) { effects.append(.event(SignalLevels.event(signal, of: link.bss.bssid))) }
        if variables["roam_off"] == 0, signal < roaming.trigger, scan == nil, roaming.mayLook(at: now) {
            lastScan &+= 1
            roaming.look(by: lastScan, at: now)
            effects.append(.order(.scan(lastScan, FirmwareScanOrder(for: link.order.ssid))))
        }
        return effects
    }

    func isWanted(_ event: FirmwareEvent) -> Bool {
        let code = Int(event.code.rawValue)
        return eventMask.indices.contains(code / 8) && eventMask[code / 8] >> UInt8(code % 8) & 1 == 1
    }
}

/// State of roaming by the firmware. The driver's option `roamoff=1` disables roaming.
private struct Roaming {
    /// Signal in dBm below which the firmware roams.
    var trigger = -75
    /// Required improvement of the signal in dB.
    var delta = 20
    var search: UInt32?
    private var last: Instant?

    private static let pause = Duration.seconds(10)

    func mayLook(at now: Instant) -> Bool { search == nil && last.map { now - $0 >= Self.pause } ?? true }

    mutating func look(by number: UInt32, at now: Instant) { (search, last) = (number, now) }
}

public struct RadioFaults: Sendable, Equatable {
    /// The firmware refuses every scan. The driver then reports EBADE.
    public var refusesScans = false
    /// The firmware never reports the end of a scan. The driver gives up after 10 s.
    public var hasEndlessScans = false
    /// The firmware answers no commands until a reload. It still transfers frames.
    public var hangs = false

    public init() {}
}

/// Signal levels at which the driver wants an event (variable "rssi_event").
struct SignalLevels: Equatable {
    private let levels: [Int]
    private var last: Int?

    init(_ levels: [Int]) { self.levels = levels }

    /// - Parameter argument: minimum interval of events, number of levels, and the levels in dBm.
    init(_ argument: ArraySlice<UInt8>) throws(DongleError) {
        guard let count = argument.little(4, as: UInt8.self), count <= 8, let list = argument.bytes(5, Int(count))
        else {
            throw .malformed("signal levels")
        }
        self.init(list.map { Int(Int8(bitPattern: $0)) })
    }

    mutating func forget() { last = nil }

    /// Whether the signal has crossed a level since the last call. True at the first call if there are levels.
    mutating func hasCrossed(_ signal: Int) -> Bool {
        let place = levels.prefix { signal > $0 }.count
        defer { last = place }
        return !levels.isEmpty && place != last
    }

    /// Returns the event for a crossed level, with big-endian data.
    static func event(_ signal: Int, of bssid: BSSID) -> FirmwareEvent {
        var data: [UInt8] = []
        for number in [signal, signal - AirBSS.noise, AirBSS.noise] { data.append(big: Int32(clamping: number)) }
        return FirmwareEvent(code: .signal, address: bssid, data: data)
    }
}
