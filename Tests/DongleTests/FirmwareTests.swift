import AgentModel
import Testing

@testable import Dongle

/// The firmware's decisions, as a table of what comes in and what goes out.
@Suite struct FirmwareTests {
    static let own = BSSID(bytes: [2, 0, 0, 0, 0, 0]) ?? home
    static let home: BSSID = .list([2, 0, 0, 0, 1, 0])[0]
    private static let bss = AirBSS(
        bssid: home, frequency: Frequency(megahertz: 2412), signal: -50, lastSeen: Instant(milliseconds: 0),
        elements: [0, 7] + Array("HomeNet".utf8))

    private static func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    private static func command(
        _ number: UInt32, isSet: Bool = true, _ buffer: [UInt8] = [], length: UInt32 = 2048
    ) throws -> FirmwareCommand {
        var bytes: [UInt8] = []
        for field in [number, length, isSet ? 2 : 0, 0] { bytes.append(little: field) }
        return try FirmwareCommand((bytes + buffer)[...])
    }

    private static func set(_ name: String, _ argument: [UInt8]) throws -> FirmwareCommand {
        try command(263, Array(name.utf8) + [0] + argument)
    }

    private static func get(_ name: String, _ argument: [UInt8] = []) throws -> FirmwareCommand {
        try command(262, isSet: false, Array(name.utf8) + [0] + argument)
    }

    /// A firmware that the driver has set up as it does with `roamoff=1`.
    private func started(beaconTimeout: UInt8 = 4) throws -> Firmware {
        var firmware = Firmware(address: Self.own)
        for command in [
            try Self.set("event_msgs", Array(repeating: 0xff, count: 18)),
            try Self.set("bcn_timeout", [beaconTimeout, 0, 0, 0]),
            try Self.set("country", Array("CN\0\0".utf8) + [0, 0, 0, 0] + Array("CN\0\0".utf8)),
            try Self.command(185, [40, 0, 0, 0]), try Self.command(258, [120, 0, 0, 0]),
        ] {
            #expect(firmware.perform(command, at: Self.at(0)) == (.done, []))
        }
        return firmware
    }

    private func linked(beaconTimeout: UInt8 = 4) throws -> Firmware {
        var firmware = try started(beaconTimeout: beaconTimeout)
        _ = firmware.perform(try Self.set("join", OrderTests.join()), at: Self.at(0))
        _ = firmware.handle(.joined(Self.bss, request: [], response: [1]), at: Self.at(1000))
        return firmware
    }

    private func end(_ status: FirmwareEvent.Status) -> Firmware.Effect {
        .event(FirmwareEvent(code: .scanResult, status: status, data: AirBSS.scanEnd(syncID: 0x1234)))
    }

    /// What is loaded anew knows nothing of the driver before, and does not hang.
    @Test func loadedAnewItBeginsFromNothing() throws {
        var firmware = try linked()
        firmware.faults.hangs = true
        firmware.faults.refusesScans = true
        #expect(firmware.restart() == [.order(.abortScan), .order(.leave(reason: 3))])
        #expect(firmware.link == nil && firmware.nextWake == nil)
        #expect(!firmware.faults.hangs && firmware.faults.refusesScans)
        #expect(firmware.handle(.scanned(0, []), at: Self.at(2000)) == [])
    }

    @Test func resultsComeAtTheEndOfAScan() throws {
        var firmware = try started()
        let channels = (1...11).map { UInt16(0x1000 | $0) } + [0xd034]
        let order = OrderTests.scan(channels: channels)
        let (answer, effects) = firmware.perform(try Self.set("escan", order), at: Self.at(0))
        #expect(answer == .done && effects == [.order(.scan(1, try FirmwareScanOrder(order[...])))])
        // 11 channels of 40 ms, and one of 120 ms that is listened to.
        #expect(firmware.handle(.scanned(1, [Self.bss]), at: Self.at(400)) == [])
        #expect(firmware.nextWake == Self.at(560))
        #expect(firmware.tick(at: Self.at(559)) == [])
        let result = FirmwareEvent(
            code: .scanResult, status: .partial, address: Self.home, data: Self.bss.scanResult(syncID: 0x1234))
        #expect(firmware.tick(at: Self.at(560)) == [.event(result), end(.success)])
        #expect(firmware.nextWake == nil && firmware.tick(at: Self.at(600)) == [])
    }

    @Test func aScanIsAborted() throws {
        var firmware = try started()
        _ = firmware.perform(try Self.set("escan", OrderTests.scan()), at: Self.at(0))
        let (_, effects) = firmware.perform(try Self.command(50, [0xff, 0xff]), at: Self.at(10))
        #expect(effects == [.order(.abortScan), end(.aborted)])
        #expect(firmware.handle(.scanned(1, [Self.bss]), at: Self.at(50)) == [], "it comes too late")
        #expect(firmware.perform(try Self.command(50), at: Self.at(60)).1 == [])
    }

    @Test func aScanFails() throws {
        var firmware = try started()
        _ = firmware.perform(try Self.set("escan", OrderTests.scan()), at: Self.at(0))
        #expect(firmware.handle(.scanFailed(1), at: Self.at(10)) == [end(.failed)])
    }

    @Test func scansThatAreRefusedOrDoNotEnd() throws {
        var firmware = try started()
        firmware.faults.refusesScans = true
        #expect(firmware.perform(try Self.set("escan", OrderTests.scan()), at: Self.at(0)) == (.refused(.busy), []))
        firmware.faults = RadioFaults()
        firmware.faults.hasEndlessScans = true
        _ = firmware.perform(try Self.set("escan", OrderTests.scan()), at: Self.at(0))
        #expect(firmware.handle(.scanned(1, [Self.bss]), at: Self.at(50)) == [])
        #expect(firmware.nextWake == nil && firmware.tick(at: Self.at(60_000)) == [])
    }

    /// What wpa_supplicant has the driver make at its start.
    @Test func wiFiDirect() throws {
        var firmware = try started()
        let make = try Self.set("p2p_disc", [1, 0, 0, 0])
        #expect(
            firmware.perform(make, at: Self.at(0)).1
                == [.event(.interface(1, Self.own, .direct, isThere: true))])
        #expect(firmware.perform(make, at: Self.at(0)) == (.done, []), "it is there")
        #expect(firmware.perform(try Self.get("p2p_dev"), at: Self.at(0)).0 == .number(1))
        #expect(firmware.perform(try Self.set("p2p_state", [1, 6, 0x10, 100, 0]), at: Self.at(0)) == (.done, []))
        #expect(firmware.nextWake == Self.at(100))
        #expect(
            firmware.tick(at: Self.at(100)) == [.event(FirmwareEvent(code: .listenComplete, interface: 1))])
        #expect(firmware.nextWake == nil)
        let order = OrderTests.scan(channels: [0x1001])
        let scan = try Self.set("p2p_scan", [0x45, 0, 0, 0] + order)
        #expect(firmware.perform(scan, at: Self.at(200)).1 == [.order(.scan(1, try FirmwareScanOrder(order[...])))])
        #expect(firmware.perform(try Self.set("p2p_state", [1]), at: Self.at(200)).0 == .refused(.badArgument))
        #expect(
            firmware.perform(try Self.set("p2p_disc", [0, 0, 0, 0]), at: Self.at(300)).1
                == [.event(.interface(1, Self.own, .direct, isThere: false))])
    }

    @Test func aJoin() throws {
        var firmware = try started()
        _ = firmware.perform(try Self.set("wpaie", [48, 2, 1, 0]), at: Self.at(0))
        var order = try JoinOrder(OrderTests.join()[...], .join)
        order.security = [48, 2, 1, 0]
        #expect(
            firmware.perform(try Self.set("join", OrderTests.join()), at: Self.at(0)).1 == [.order(.join(order))])
        #expect(firmware.perform(try Self.get("sta_info"), at: Self.at(0)).0 == .refused(.notAssociated))
        #expect(
            firmware.handle(.joined(Self.bss, request: [1, 0], response: [1]), at: Self.at(20)) == [
                .event(FirmwareEvent(code: .link, flags: 1, address: Self.home)),
                .event(FirmwareEvent(code: .setSSID, address: Self.home)),
            ])
        #expect(firmware.perform(try Self.get("assoc_info"), at: Self.at(30)).0 == .data([2, 0, 0, 0, 1, 0, 0, 0]))
        #expect(firmware.perform(try Self.command(23, isSet: false), at: Self.at(30)).0 == .data(Self.home.bytes))
    }

    @Test(arguments: [(true, FirmwareEvent.Status.noNetworks), (false, .failed)])
    func aJoinFails(isAbsent: Bool, status: FirmwareEvent.Status) throws {
        var firmware = try started()
        _ = firmware.perform(try Self.set("join", OrderTests.join()), at: Self.at(0))
        #expect(
            firmware.handle(.joinFailed(Self.home, isAbsent: isAbsent), at: Self.at(20))
                == [.event(FirmwareEvent(code: .setSSID, status: status, address: Self.home))])
        #expect(firmware.phase == .idle)
    }

    /// 2 s after the last beacon, or 4 s where the driver keeps the firmware from roaming.
    @Test(arguments: [2, 4] as [UInt8]) func anAccessPointFallsSilent(timeout: UInt8) throws {
        var firmware = try linked(beaconTimeout: timeout)
        let figures = StationFigures()
        #expect(firmware.handle(.measured(figures, beacon: Self.at(1900)), at: Self.at(2000)) == [])
        let due = 1900 + 1000 * Int64(timeout)
        #expect(firmware.nextWake == Self.at(due))
        #expect(firmware.handle(.measured(figures, beacon: nil), at: Self.at(due - 1)) == [])
        #expect(
            firmware.tick(at: Self.at(due)) == [
                .event(FirmwareEvent(code: .link, reason: 1, address: Self.home)), .order(.leave(reason: 4)),
            ])
        #expect(firmware.phase == .idle)
    }

    @Test func theHiddenStationsOwnOpinionDoesNotCount() throws {
        var firmware = try linked()
        #expect(firmware.handle(.disconnected(reason: 4, isByAccessPoint: false), at: Self.at(1100)) == [])
        #expect(firmware.link != nil)
        #expect(
            firmware.handle(.disconnected(reason: 2, isByAccessPoint: true), at: Self.at(1200))
                == [.event(FirmwareEvent(code: .deauthenticated, reason: 2, address: Self.home))])
    }

    @Test func theDriverLeaves() throws {
        var firmware = try linked()
        #expect(
            firmware.perform(try Self.command(52, [8, 0, 0, 0]), at: Self.at(1100)).1 == [.order(.leave(reason: 8))])
        #expect(firmware.handle(.disconnected(reason: 8, isByAccessPoint: true), at: Self.at(1200)) == [])
    }

    @Test func levelsOfTheSignal() throws {
        var firmware = try linked()
        // No limit to the rate; -75, -60, 127 dBm.
        _ = firmware.perform(try Self.set("rssi_event", [0, 0, 0, 0, 3, 0xb5, 0xc4, 0x7f]), at: Self.at(1000))
        func measured(_ signal: Int) -> [Firmware.Effect] {
            var figures = StationFigures()
            figures.average = signal
            return firmware.handle(.measured(figures, beacon: Self.at(1100)), at: Self.at(1100))
        }
        #expect(measured(-50) == [.event(SignalLevels.event(-50, of: Self.home))])
        #expect(measured(-55) == [])
        #expect(measured(-70) == [.event(SignalLevels.event(-70, of: Self.home))])
        #expect(
            SignalLevels.event(-70, of: Self.home).data == [
                0xff, 0xff, 0xff, 0xba, 0, 0, 0, 25, 0xff, 0xff, 0xff, 0xa1,
            ])
    }

    /// Below -75 dBm it looks for an access point of its network that is 20 dB stronger, every ten seconds.
    @Test func roamsByItself() throws {
        var firmware = try linked()
        _ = firmware.perform(try Self.set("roam_off", [0, 0, 0, 0]), at: Self.at(1000))
        func measured(_ signal: Int, at moment: Int64) -> [Firmware.Effect] {
            var figures = StationFigures()
            figures.average = signal
            return firmware.handle(.measured(figures, beacon: Self.at(moment)), at: Self.at(moment))
        }
        #expect(measured(-75, at: 1100) == [])
        let scan = FirmwareScanOrder(for: try SSID("HomeNet"))
        #expect(measured(-76, at: 1200) == [.order(.scan(1, scan))])
        var other = Self.bss
        other.bssid = .list([2, 0, 0, 0, 2, 0])[0]
        (other.frequency, other.signal) = (Frequency(megahertz: 5180), -57)
        #expect(firmware.handle(.scanned(1, [other, Self.bss]), at: Self.at(1300)) == [], "19 dB, and its own")
        #expect(measured(-76, at: 11_199) == [])
        #expect(measured(-77, at: 11_200) == [.order(.scan(2, scan))])
        var order = try JoinOrder(OrderTests.join()[...], .join)
        (order.bssid, order.channel) = (other.bssid, ChannelSpec(value: 0xd024))
        #expect(firmware.handle(.scanned(2, [other]), at: Self.at(11_300)) == [.order(.join(order))])
        #expect(
            firmware.handle(.joined(other, request: [], response: []), at: Self.at(11_400))
                == [.event(FirmwareEvent(code: .roamed, address: other.bssid))])
        #expect(firmware.link?.bss == other)
    }

    @Test func staysWhereItIsForbiddenToRoam() throws {
        var firmware = try linked()
        _ = firmware.perform(try Self.set("roam_off", [1, 0, 0, 0]), at: Self.at(1000))
        var figures = StationFigures()
        figures.average = -90
        #expect(firmware.handle(.measured(figures, beacon: Self.at(1100)), at: Self.at(1100)) == [])
    }

    @Test func aRoamThatFailsEndsTheLink() throws {
        var firmware = try linked()
        _ = firmware.perform(try Self.set("roam_off", [0, 0, 0, 0]), at: Self.at(1000))
        var figures = StationFigures()
        figures.average = -90
        _ = firmware.handle(.measured(figures, beacon: Self.at(1100)), at: Self.at(1100))
        var other = Self.bss
        other.bssid = .list([2, 0, 0, 0, 2, 0])[0]
        _ = firmware.handle(.scanned(1, [other]), at: Self.at(1200))
        #expect(
            firmware.handle(.joinFailed(other.bssid, isAbsent: true), at: Self.at(1300))
                == [.event(FirmwareEvent(code: .link, reason: 1, address: Self.home))])
        #expect(firmware.phase == .idle)
    }

    /// A frame for a radio that sleeps comes with the next beacon, and keeps it awake.
    @Test func powerSave() throws {
        var firmware = try linked()
        #expect(firmware.arrival(at: Self.at(9000)) == Self.at(9000), "it is off")
        _ = firmware.perform(try Self.command(86, [2, 0, 0, 0]), at: Self.at(9000))
        _ = firmware.perform(try Self.set("pm2_sleep_ret", [0xd0, 7, 0, 0]), at: Self.at(9000))
        #expect(firmware.perform(try Self.command(85, isSet: false), at: Self.at(9000)).0 == .number(2))
        #expect(firmware.arrival(at: Self.at(10_999)) == Self.at(10_999), "less than 2 s after the last frame")
        // Beacons every 102 ms from 1 s on.
        #expect(firmware.arrival(at: Self.at(13_000)) == Self.at(1000 + 118 * 102))
        #expect(firmware.arrival(at: Self.at(14_000)) == Self.at(14_000))
        firmware.sends(at: Self.at(20_000))
        #expect(firmware.arrival(at: Self.at(20_010)) == Self.at(20_010))
        #expect(firmware.perform(try Self.command(86, [9, 0, 0, 0]), at: Self.at(0)).0 == .refused(.badArgument))
    }

    @Test func unknownCommands() throws {
        var firmware = try started()
        #expect(firmware.perform(try Self.get("wowl"), at: Self.at(0)).0 == .refused(.unsupported))
        #expect(firmware.perform(try Self.set("obss_coex", [1, 0, 0, 0]), at: Self.at(0)).0 == .done)
        #expect(firmware.perform(try Self.command(9999), at: Self.at(0)).0 == .done)
        #expect(firmware.perform(try Self.command(9999, isSet: false), at: Self.at(0)).0 == .refused(.unsupported))
        #expect(firmware.perform(try Self.set("escan", []), at: Self.at(0)).0 == .refused(.badArgument))
    }

    @Test func onlyEventsThatAreWantedAreTold() throws {
        let firmware = try started()
        #expect(firmware.isWanted(FirmwareEvent(code: .scanResult)))
        #expect(!Firmware(address: Self.own).isWanted(FirmwareEvent(code: .scanResult)))
    }
}
