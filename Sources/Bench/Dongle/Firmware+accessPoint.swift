import AgentModel

/// The firmware's access point. There is at most one, which replaces the station or has a second interface. The
/// firmware answers requests of stations, and the host performs the key handshake.
extension Firmware {
    private enum Command {
        static let down: UInt32 = 3
        static let setSSID: UInt32 = 26
        static let beaconInterval: UInt32 = 76
        static let trafficInterval: UInt32 = 78
        static let powerSave: UInt32 = 86
        static let mode: UInt32 = 118
        static let authorise: UInt32 = 121
        static let deauthorise: UInt32 = 122
        static let bssInfo: UInt32 = 136
        static let stations: UInt32 = 159
        static let end: UInt32 = 201
    }

    mutating func performForAccessPoint(
        _ command: FirmwareCommand, at now: Instant
    ) throws(DongleError) -> (FirmwareAnswer, [Effect])? {
        switch (command.subject, command.isSet) {
        // Setting the SSID of a missing interface creates the interface.
        case (.variable("ssid"), true) where command.interface != 0:
            return makeAccessPoint(interface: command.interface, address: address.beside)
        // Newer kernels create the interface with this variable (Linux 6.12). Only version 1 and access points are
        // supported.
        case (.variable("interface_create"), false):
            guard command.argument.little(0, as: UInt16.self) == 1,
                let flags = command.argument.little(4, as: UInt32.self), flags & Self.isAccessPoint != 0,
                let address = command.argument.bytes(8, 6).flatMap({ BSSID(bytes: $0) })
            else { return (.refused(.unsupported), []) }
            return makeAccessPoint(interface: freeInterface, address: address)
        case (.number(Command.mode), _): return try setMode(command)
        default: break
        }
        guard let point = accessPoint, point.interface == command.interface else { return nil }
        switch (command.subject, command.isSet) {
        case (.number(let number), true): return try set(number, command.argument)
        case (.number(Command.bssInfo), false):
            let record = point.heard(at: now).record
            return (.data(Self.numbers([UInt32(record.count + 4)]) + record), [])
        case (.number(Command.stations), false):
            let stations = point.stations.keys.sorted()
            return (.data(Self.numbers([UInt32(stations.count)]) + stations.flatMap(\.bytes)), [])
        case (.variable(let name), true): return try set(name, command.argument)
        case (.variable("chanspec"), false): return (.number(point.channel?.value ?? ownChannel), [])
        case (.variable("sta_info"), false):
            guard let station = command.argument.bytes(0, 6).flatMap({ BSSID(bytes: $0) }),
                let last = point.stations[station]
            else { return (.refused(.badArgument), []) }
            var figures = StationFigures()
            figures.inactive = now - last
            return (.data(figures.record(of: station)), [])
        default: return nil
        }
    }

    private static let isAccessPoint: UInt32 = 1

    private mutating func makeAccessPoint(interface: UInt8, address: BSSID) -> (FirmwareAnswer, [Effect]) {
        guard accessPoint == nil else { return (.refused(.busy), []) }
        accessPoint = SoftAccessPoint(interface: interface, address: address)
        return (.done, [.event(.interface(interface, address, .accessPoint, isThere: true))])
    }

    var freeInterface: UInt8 { accessPoint?.interface == 1 || direct?.interface == 1 ? 2 : 1 }

    private mutating func setMode(
        _ command: FirmwareCommand
    ) throws(DongleError) -> (FirmwareAnswer, [Effect])? {
        guard command.isSet, let isAccessPoint = command.argument.little(0, as: UInt32.self) else { return nil }
        guard command.interface == 0 else { return (.done, isAccessPoint == 0 ? switchOff() : []) }
        if isAccessPoint == 0 {
            guard accessPoint?.isInsteadOfStation == true else { return (.done, []) }
            let effects = switchOff()
            accessPoint = nil
            return (.done, effects)
        }
        guard accessPoint == nil || accessPoint?.interface == 0 else { return (.refused(.busy), []) }
        accessPoint = accessPoint ?? SoftAccessPoint(interface: 0, address: address)
        return (.done, [])
    }

    private mutating func set(
        _ number: UInt32, _ argument: ArraySlice<UInt8>
    ) throws(DongleError) -> (FirmwareAnswer, [Effect])? {
        func station(at offset: Int) throws(DongleError) -> BSSID {
            guard let station = argument.bytes(offset, 6).flatMap({ BSSID(bytes: $0) }) else {
                throw .malformed("station")
            }
            return station
        }
        switch number {
        case Command.down: return (.done, switchOff())
        case Command.setSSID: return (.done, try switchOn(argument))
        case Command.beaconInterval:
            let interval: UInt16 = try Self.number(argument, in: 10...10_000)
            accessPoint?.beaconInterval = interval
        case Command.trafficInterval:
            let interval: UInt8 = try Self.number(argument, in: 1...255)
            accessPoint?.trafficInterval = interval
        case Command.authorise, Command.deauthorise:
            let action = AccessPointAction.authorise(try station(at: 0), number == Command.authorise)
            return (.done, [.order(.accessPoint(action))])
        case Command.end:
            let (reason, station) = (argument.little(0, as: UInt32.self) ?? 1, try station(at: 4))
            accessPoint?.stations[station] = nil
            return (.done, [.order(.accessPoint(.end(station, reason: UInt16(clamping: reason))))])
        // Ignore power save, because an access point does not sleep.
        case Command.powerSave: break
        default: return nil
        }
        return (.done, [])
    }

    private mutating func set(
        _ name: String, _ argument: ArraySlice<UInt8>
    ) throws(DongleError) -> (FirmwareAnswer, [Effect])? {
        switch name {
        case "interface_remove":
            guard let point = accessPoint, !point.isInsteadOfStation else { return (.refused(.badArgument), []) }
            let effects = switchOff()
            accessPoint = nil
            return (.done, effects + [.event(.interface(point.interface, point.address, .accessPoint, isThere: false))])
        // The radio uses one channel. The station's channel has priority.
        case "chanspec":
            let wanted = ChannelSpec(value: try Self.number(argument, in: 0...UInt16.max))
            let channel = link.flatMap { ChannelSpec($0.bss.frequency) } ?? wanted
            accessPoint?.channel = channel
        case "closednet", "wpa_auth", "mfp", "wme_bss_disable":
            let number: UInt32 = try Self.number(argument, in: 0...UInt32.max)
            accessPoint?.set(name, number)
        case "wsec", "auth", "bip", "wpaie": break
        case "wsec_key":
            let key = try KeyOrder(argument)
            if key.address == nil { accessPoint?.groupKeys[key.index] = key.key.isEmpty ? nil : key }
            return (.done, accessPoint?.isOn == true ? [.order(.accessPoint(.key(key)))] : [])
        default: return nil
        }
        return (.done, [])
    }

    private static func number<Number: FixedWidthInteger & UnsignedInteger>(
        _ argument: ArraySlice<UInt8>, in range: ClosedRange<Number>
    ) throws(DongleError) -> Number {
        guard let number = argument.little(0, as: UInt32.self).flatMap(Number.init(exactly:)), range ~= number else {
            throw .malformed("number")
        }
        return number
    }

    // MARK: Switching on and off

    /// - Parameter argument: length and name. An empty name switches the access point off.
    private mutating func switchOn(_ argument: ArraySlice<UInt8>) throws(DongleError) -> [Effect] {
        guard let length = argument.little(0, as: UInt32.self), length <= 32, let name = argument.bytes(4, Int(length))
        else { throw .malformed("name of an access point") }
        guard !name.isEmpty else { return switchOff() }
        guard let ssid = try? SSID(bytes: name) else { throw .malformed("name of an access point") }
        accessPoint?.ssid = ssid
        let leaving: [Effect] = accessPoint?.isInsteadOfStation == true ? leaveForAccessPoint() : []
        return leaving + start()
    }

    private func start() -> [Effect] {
        guard let point = accessPoint, let order = point.order else { return [] }
        let keys = point.groupKeys.sorted { $0.key < $1.key }.map { Effect.order(.accessPoint(.key($0.value))) }
        return [.order(.accessPoint(.start(order)))] + keys
    }

    private mutating func switchOff() -> [Effect] {
        guard let point = accessPoint, point.ssid != nil else { return [] }
        accessPoint?.ssid = nil
        accessPoint?.stations = [:]
        accessPoint?.groupKeys = [:]
        accessPoint?.isSuspended = false
        return point.isSuspended ? [] : [.order(.accessPoint(.stop))]
    }

    /// Suspends the access point if a join needs another channel. The access point loses its stations.
    mutating func suspendAccessPoint(for order: JoinOrder) -> [Effect] {
        guard let point = accessPoint, point.isOn, order.channel != point.channel else {
            return []
        }
        accessPoint?.isSuspended = true
        accessPoint?.stations = [:]
        let lost = point.stations.keys.sorted().map { station in
            Effect.event(
                FirmwareEvent(code: .deauthenticated, reason: 3, address: station, interface: point.interface))
        }
        return lost + [.order(.accessPoint(.stop))]
    }

    mutating func resumeAccessPoint() -> [Effect] {
        guard accessPoint?.isSuspended == true else { return [] }
        accessPoint?.isSuspended = false
        let channel = link.flatMap { ChannelSpec($0.bss.frequency) } ?? accessPoint?.channel
        accessPoint?.channel = channel
        return start()
    }

    // MARK: Stations

    mutating func stationJoined(
        _ station: BSSID, elements: [UInt8], isAgain: Bool, at now: Instant
    ) -> [Effect] {
        guard let point = accessPoint, point.isOn else { return [] }
        accessPoint?.stations[station] = now
        return [
            .event(
                FirmwareEvent(
                    code: isAgain ? .stationJoinedAgain : .stationJoined, address: station, interface: point.interface,
                    data: elements))
        ]
    }

    mutating func stationLeft(_ station: BSSID, reason: UInt16) -> [Effect] {
        guard let point = accessPoint, accessPoint?.stations.removeValue(forKey: station) != nil else { return [] }
        return [
            .event(
                FirmwareEvent(
                    code: .deauthenticated, reason: UInt32(reason), address: station, interface: point.interface))
        ]
    }

    mutating func hears(_ station: BSSID, at now: Instant) {
        if accessPoint?.stations[station] != nil { accessPoint?.stations[station] = now }
    }
}

extension SoftAccessPoint {
    fileprivate mutating func set(_ name: String, _ number: UInt32) {
        switch name {
        case "closednet": isHidden = number != 0
        case "wpa_auth": security.keyManagements = number
        case "mfp": security.frameProtection = number
        default: security.hasReplayCounters = number == 0
        }
    }

    fileprivate func heard(at now: Instant) -> AirBSS {
        let name = ssid?.bytes ?? []
        return AirBSS(
            bssid: address, frequency: channel?.frequency ?? Frequency(megahertz: 2412), signal: 0,
            beaconInterval: beaconInterval, lastSeen: now,
            elements: [Elements.ssid, UInt8(clamping: name.count)] + name + security.element)
    }
}

extension BSSID {
    /// Address for the radio's second interface, derived from this one.
    fileprivate var beside: BSSID {
        var bytes = bytes
        bytes[0] = (bytes[0] | 2) ^ 0x40
        return BSSID(bytes: bytes) ?? self
    }
}
