import AgentModel
import Testing

@testable import Dongle

/// The firmware as an access point: what the driver sets, and what goes into the air.
@Suite struct SoftAccessPointTests {
    private static let own: BSSID = .list([2, 0, 0, 0, 0, 0])[0]
    private static let beside: BSSID = .list([0x42, 0, 0, 0, 0, 0])[0]
    private static let station: BSSID = .list([2, 0, 0, 0, 9, 0])[0]
    private static let home: BSSID = .list([2, 0, 0, 0, 1, 0])[0]

    private static func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    /// - Parameter interface: in the flags of a command, before the argument of a variable.
    private static func set(_ subject: FirmwareCommand.Subject, _ argument: [UInt8], interface: UInt32 = 0) throws
        -> FirmwareCommand
    {
        let number: UInt32
        var buffer = argument
        switch subject {
        case .number(let value): number = value
        case .variable(let name):
            number = 263
            if interface == 0 {
                buffer = Array(name.utf8) + [0] + argument
            } else {
                buffer = Array("bsscfg:\(name)".utf8) + [0, UInt8(interface), 0, 0, 0] + argument
            }
        }
        var bytes: [UInt8] = []
        for field in [number, UInt32(buffer.count), 2 | interface << 12, 0] { bytes.append(little: field) }
        return try FirmwareCommand((bytes + buffer)[...])
    }

    private static func name(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(little: UInt32(text.utf8.count))
        return (bytes + text.utf8).resized(to: 36)
    }

    /// As brcmfmac starts an access point of WPA2, where frames may be protected.
    private func start(
        _ firmware: inout Firmware, interface: UInt32 = 0, channel: UInt8 = 6
    ) throws -> [Firmware.Effect] {
        if interface == 0 {
            #expect(firmware.perform(try Self.set(.number(118), [1, 0, 0, 0]), at: Self.at(0)) == (.done, []))
        }
        for (subject, argument) in [
            (.variable("chanspec"), [channel, 0x10, 0, 0]), (.number(76), [100, 0, 0, 0]),
            (.number(78), [2, 0, 0, 0]), (.variable("wme_bss_disable"), [0, 0, 0, 0]),
            (.variable("mfp"), [1, 0, 0, 0]), (.variable("wpa_auth"), [0x80, 0, 0, 0]),
        ] as [(FirmwareCommand.Subject, [UInt8])] {
            let command = try Self.set(subject, argument, interface: interface)
            #expect(firmware.perform(command, at: Self.at(0)) == (.done, []))
        }
        return firmware.perform(
            try Self.set(.number(26), Self.name("altnet"), interface: interface), at: Self.at(0)
        ).1
    }

    private func airOrder(_ firmware: Firmware) throws -> AccessPointOrder { try #require(firmware.accessPoint?.order) }

    @Test func insteadOfTheStation() throws {
        var firmware = Firmware(address: Self.own)
        let effects = try start(&firmware)
        let order = try airOrder(firmware)
        #expect(effects == [.order(.accessPoint(.start(order)))])
        #expect(order.isInsteadOfStation && order.address == Self.own && order.frequency.megahertz == 2437)
        // Empty, it is off, and the station's turn comes again.
        #expect(
            firmware.perform(try Self.set(.number(26), Self.name("")), at: Self.at(1)).1
                == [.order(.accessPoint(.stop))])
        #expect(firmware.perform(try Self.set(.number(118), [0, 0, 0, 0]), at: Self.at(1)) == (.done, []))
        #expect(firmware.accessPoint == nil)
    }

    @Test func besideTheStation() throws {
        var firmware = Firmware(address: Self.own)
        let make = try Self.set(.variable("ssid"), Self.name("ssid1"), interface: 1)
        #expect(
            firmware.perform(make, at: Self.at(0))
                == (.done, [.event(.interface(1, Self.beside, .accessPoint, isThere: true))]))
        #expect(firmware.perform(make, at: Self.at(0)).0 == .refused(.busy), "there is one at most")
        #expect(firmware.perform(try Self.set(.number(118), [1, 0, 0, 0]), at: Self.at(0)).0 == .refused(.busy))
        _ = try start(&firmware, interface: 1)
        #expect(try airOrder(firmware).address == Self.beside)
        #expect(
            firmware.perform(try Self.set(.variable("interface_remove"), [], interface: 1), at: Self.at(1)).1 == [
                .order(.accessPoint(.stop)), .event(.interface(1, Self.beside, .accessPoint, isThere: false)),
            ])
        #expect(firmware.accessPoint == nil)
    }

    /// As Linux 6.12 has one made: version, flags, address. A second station is not to be had.
    @Test func madeByANewerKernel() throws {
        var firmware = Firmware(address: Self.own)
        func create(version: UInt8 = 1, flags: UInt8) throws -> FirmwareCommand {
            let argument: [UInt8] = [version, 0, 0, 0, flags, 0, 0, 0] + Self.beside.bytes + [0, 0, 0, 0, 0, 0]
            var bytes: [UInt8] = []
            for field in [262, 20, 0, 0] as [UInt32] { bytes.append(little: field) }
            return try FirmwareCommand((bytes + Array("interface_create".utf8) + [0] + argument)[...])
        }
        _ = firmware.perform(try Self.set(.variable("p2p_disc"), [1, 0, 0, 0]), at: Self.at(0))
        #expect(firmware.perform(try create(flags: 2), at: Self.at(0)).0 == .refused(.unsupported))
        #expect(firmware.perform(try create(version: 2, flags: 3), at: Self.at(0)).0 == .refused(.unsupported))
        #expect(
            firmware.perform(try create(flags: 3), at: Self.at(0))
                == (.done, [.event(.interface(2, Self.beside, .accessPoint, isThere: true))]))
    }

    @Test func stationsComeAndGo() throws {
        var firmware = Firmware(address: Self.own)
        _ = try start(&firmware)
        #expect(
            firmware.handle(.stationJoined(Self.station, elements: [1, 0], isAgain: false), at: Self.at(10)) == [
                .event(FirmwareEvent(code: .stationJoined, address: Self.station, data: [1, 0]))
            ])
        #expect(
            firmware.perform(try Self.set(.number(121), Self.station.bytes), at: Self.at(20)).1
                == [.order(.accessPoint(.authorise(Self.station, true)))])
        #expect(
            firmware.perform(try Self.set(.variable("wsec_key"), OrderTests.key()), at: Self.at(20)).1
                == [.order(.accessPoint(.key(try KeyOrder(OrderTests.key()[...]))))])
        #expect(
            firmware.handle(.stationLeft(Self.station, reason: 8), at: Self.at(30)) == [
                .event(FirmwareEvent(code: .deauthenticated, reason: 8, address: Self.station))
            ])
        #expect(firmware.handle(.stationLeft(Self.station, reason: 8), at: Self.at(31)) == [], "it is gone already")
    }

    /// The radio has one channel, which is the station's.
    @Test func itFollowsTheStation() throws {
        var firmware = Firmware(address: Self.own)
        _ = firmware.perform(try Self.set(.variable("ssid"), Self.name("ssid1"), interface: 1), at: Self.at(0))
        _ = try start(&firmware, interface: 1)
        _ = firmware.handle(.stationJoined(Self.station, elements: [], isAgain: false), at: Self.at(10))
        // The key of the group is set once.
        let key = Array(OrderTests.key(index: 1).prefix(156)) + Array(repeating: 0, count: 8)
        let groupKey = try KeyOrder(key[...])
        #expect(
            firmware.perform(try Self.set(.variable("wsec_key"), key, interface: 1), at: Self.at(10)).1
                == [.order(.accessPoint(.key(groupKey)))])
        let joins = firmware.perform(try Self.set(.variable("join"), OrderTests.join()), at: Self.at(20)).1
        #expect(
            joins.prefix(2) == [
                .event(FirmwareEvent(code: .deauthenticated, reason: 3, address: Self.station, interface: 1)),
                .order(.accessPoint(.stop)),
            ])
        let bss = AirBSS(
            bssid: Self.home, frequency: Frequency(megahertz: 2412), signal: -50, lastSeen: Self.at(20), elements: [])
        let joined = firmware.handle(.joined(bss, request: [], response: []), at: Self.at(30))
        #expect(
            joined.suffix(2) == [
                .order(.accessPoint(.start(try airOrder(firmware)))), .order(.accessPoint(.key(groupKey))),
            ])
        #expect(try airOrder(firmware).frequency.megahertz == 2412)
        // On the same channel nothing changes.
        #expect(
            firmware.perform(try Self.set(.variable("join"), OrderTests.join()), at: Self.at(40)).1.count == 1)
    }

    @Test func whatMakesNoSenseIsRefused() throws {
        var firmware = Firmware(address: Self.own)
        _ = try start(&firmware)
        for (subject, argument) in [
            (.number(26), [33, 0, 0, 0]), (.number(26), [5, 0, 0, 0, 1]), (.number(76), []),
            (.number(78), [0, 1, 0, 0]),
            (.number(121), [1, 2]), (.number(201), [1, 0, 0, 0]), (.variable("chanspec"), [1]),
            (.variable("wsec_key"), [0]),
        ] as [(FirmwareCommand.Subject, [UInt8])] {
            #expect(firmware.perform(try Self.set(subject, argument), at: Self.at(0)).0 == .refused(.badArgument))
        }
    }

    // MARK: Frames

    /// hostapd's own element for WPA2-PSK with optional protection, byte by byte: stations compare it with the handshake's.
    @Test func theSecurityElement() throws {
        var security = SoftAccessPoint.Security(keyManagements: 0x80, frameProtection: 1, hasReplayCounters: true)
        #expect(
            try security.element
                == USBTests.bytes("30 1a 0100 000fac04 0100 000fac04 0100 000fac02 8c00 0000 000fac06"))
        security.frameProtection = 0
        #expect(try security.element == USBTests.bytes("30 14 0100 000fac04 0100 000fac04 0100 000fac02 0c00"))
        security.keyManagements = 0
        #expect(security.element.isEmpty)
    }

    @Test func frames() throws {
        var firmware = Firmware(address: Self.own)
        _ = try start(&firmware)
        let order = try airOrder(firmware)
        #expect(order.beaconHead.prefix(4) == [0x80, 0, 0, 0])
        #expect(order.beaconHead.dropFirst(36).prefix(8) == [0, 6] + "altnet".utf8)
        #expect(
            order.authentication(to: Self.station, status: 13)
                == [0xb0, 0, 0, 0] + Self.station.bytes + Self.own.bytes + Self.own.bytes + [0, 0, 0, 0, 2, 0, 13, 0])
        let response = order.association(of: Self.station, isAgain: true, number: 1, hasTrafficClasses: false)
        #expect(response.first == 0x30 && response.dropFirst(24).prefix(6) == [0x11, 4, 0, 0, 1, 0xc0])
    }

    private static func frame(_ kind: UInt8, _ body: [UInt8]) -> [UInt8] {
        [kind, 0, 0, 0] + own.bytes + station.bytes + own.bytes + [0, 0] + body
    }

    @Test func requests() throws {
        let elements: [UInt8] =
            [0, 6] + Array("altnet".utf8) + [1, 2, 0x82, 0x84, 50, 1, 0x6c, 221, 4, 0, 0x50, 0xf2, 2]
        let request = try #require(ManagementFrame(Self.frame(0x00, [0x11, 4, 10, 0] + elements)[...])?.association)
        #expect(!request.isAgain && request.listenInterval == 10 && request.hasTrafficClasses)
        #expect(request.rates == [0x82, 0x84, 0x6c] && !request.canProtectFrames)
        let again = try #require(
            ManagementFrame(Self.frame(0x20, [0x11, 4, 10, 0] + Self.own.bytes + elements)[...])?.association)
        #expect(again.isAgain && again.elements == elements)
        #expect(ManagementFrame(Self.frame(0x20, [0x11, 4, 10, 0])[...])?.association == nil, "cut off")
        #expect(ManagementFrame(Self.frame(0x80, [])[...]) == nil, "a beacon is not asked for")
        for length in 0..<24 { #expect(ManagementFrame(Self.frame(0xb0, []).prefix(length)) == nil) }
        // Nothing traps on what is cut off.
        for length in 0...elements.count {
            let frame = ManagementFrame(Self.frame(0x00, [0x11, 4, 10, 0] + elements.prefix(length))[...])
            _ = frame?.association.map { ($0.rates, $0.hasTrafficClasses, $0.canProtectFrames) }
        }
    }

    @Test func probes() throws {
        func asks(_ name: String, isHidden: Bool = false) throws -> Bool {
            let frame = ManagementFrame(Self.frame(0x40, [0, UInt8(name.utf8.count)] + name.utf8)[...])
            return try #require(frame).asks(for: try SSID("altnet"), isHidden: isHidden)
        }
        #expect(try asks("altnet") && asks("altnet", isHidden: true) && asks(""))
        #expect(try !asks("", isHidden: true) && !asks("HomeNet"))
    }
}
