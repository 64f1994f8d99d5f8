import AgentModel
import Randomness
import Testing

@testable import Dongle

/// SAE by the host: what the driver's module for Cypress sends, and what the firmware makes of it.
@Suite struct ExternalAuthenticationTests {
    private static let own = FirmwareTests.own
    private static let home = FirmwareTests.home
    /// RSN: CCMP, one cipher, CCMP, one key management, SAE, protected frames required.
    private static let sae: [UInt8] = [
        48, 20, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 4, 1, 0, 0, 0x0f, 0xac, 8, 0xc0, 0,
    ]
    private static let bss = AirBSS(
        bssid: home, frequency: Frequency(megahertz: 2412), signal: -50, lastSeen: at(0),
        elements: [0, 7] + Array("HomeNet".utf8))

    private static func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    private static func set(_ name: String, _ argument: [UInt8]) throws -> FirmwareCommand {
        var bytes: [UInt8] = []
        for field in [263, 2048, 2, 0] as [UInt32] { bytes.append(little: field) }
        return try FirmwareCommand((bytes + Array(name.utf8) + [0] + argument)[...])
    }

    /// The variable `mgmt_frame`: an authentication frame, transaction 1, with 98 bytes of SAE's.
    private static func frame(
        to address: BSSID = home, control: UInt16 = 0xb0, body: [UInt8] = [3, 0, 1, 0, 0, 0] + Array(0..<98)
    ) -> [UInt8] {
        var argument: [UInt8] = []
        for number in [0, 4000] as [UInt32] { argument.append(little: number) }
        for number in [UInt16(body.count), control, 1] { argument.append(little: number) }
        argument += address.bytes + address.bytes + [0, 0]
        argument.append(little: UInt32(7))
        return argument + body
    }

    /// The variable `auth_status`.
    private static func outcome(_ flags: UInt8, of address: BSSID = home) -> [UInt8] {
        ([flags, 0] + address.bytes + [7, 0, 0, 0] + Array("HomeNet".utf8)).resized(to: 60)
    }

    /// A firmware whose driver wants a link by SAE.
    private func joining(_ element: [UInt8] = Self.sae) throws -> Firmware {
        var firmware = Firmware(address: Self.own)
        let mask = [1, 3, 25, 0] + [UInt8](repeating: 0xff, count: 25)
        #expect(firmware.perform(try Self.set("event_msgs_ext", mask), at: Self.at(0)) == (.done, []))
        _ = firmware.perform(try Self.set("wpaie", element), at: Self.at(0))
        var order = try JoinOrder(OrderTests.join()[...], .join)
        order.security = element
        #expect(
            firmware.perform(try Self.set("join", OrderTests.join()), at: Self.at(0)).1 == [.order(.join(order))])
        return firmware
    }

    @Test func frames() throws {
        let frame = try AuthenticationFrame(Self.frame()[...])
        #expect(frame.accessPoint == Self.home && frame.number == 7)
        #expect(frame.body == [3, 0, 1, 0, 0, 0] + Array(0..<98))
        #expect(throws: DongleError.self) { try AuthenticationFrame(Self.frame(control: 0xd0)[...]) }
        #expect(throws: DongleError.self, "Open System") {
            try AuthenticationFrame(Self.frame(body: [0, 0, 1, 0, 0, 0])[...])
        }
        let bytes = Self.frame()
        for length in 0..<bytes.count {
            #expect(throws: DongleError.self) { try AuthenticationFrame(bytes.prefix(length)) }
        }
    }

    @Test func outcomes() throws {
        #expect(try AuthenticationOutcome(Self.outcome(4)[...]).hasSucceeded)
        #expect(try !AuthenticationOutcome(Self.outcome(3)[...]).hasSucceeded)
        #expect(try AuthenticationOutcome(Self.outcome(4).prefix(8)).accessPoint == Self.home)
        for length in 0..<8 {
            #expect(throws: DongleError.self) { try AuthenticationOutcome(Self.outcome(4).prefix(length)) }
        }
        #expect(throws: DongleError.self, "an authentication is begun by the firmware") {
            try AuthenticationOutcome(Self.outcome(1)[...])
        }
    }

    @Test func nothingTraps() throws {
        var random = SeededRandom(seed: 24)
        for seed in [Self.frame(), Self.outcome(4)] {
            for _ in 0..<Rounds.of(2000) {
                var bytes = seed
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                }
                let cut = bytes.prefix(.random(in: 0...bytes.count, using: &random))
                _ = try? AuthenticationFrame(cut)
                _ = try? AuthenticationOutcome(cut)
                var firmware = try joining()
                for name in ["mgmt_frame", "auth_status", "event_msgs_ext"] {
                    _ = firmware.perform(try Self.set(name, Array(cut)), at: Self.at(0))
                }
            }
        }
    }

    /// The events that the driver reads.
    @Test func events() throws {
        let wanted = FirmwareEvent.authenticationWanted(Self.home, try SSID("HomeNet"))
        #expect(wanted.code.rawValue == 187 && wanted.data == Self.outcome(1))
        let told = FirmwareEvent.authenticationFrame([0xb0, 0], from: Self.bss)
        #expect(told.code.rawValue == 188 && told.address == Self.home)
        #expect(
            told.data == [0, 1, 0x10, 1, 0xff, 0xff, 0xff, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0xb0, 0])
        let sent = FirmwareEvent.sent(try AuthenticationFrame(Self.frame()[...]))
        #expect(sent.code.rawValue == 189 && sent.status == .success && sent.data == [7, 0, 0, 0])
    }

    @Test func aJoin() throws {
        var firmware = try joining()
        let frame = try AuthenticationFrame(Self.frame()[...])
        #expect(
            firmware.handle(.authenticationWanted(Self.bss), at: Self.at(10))
                == [.event(.authenticationWanted(Self.home, try SSID("HomeNet")))])
        #expect(
            firmware.perform(try Self.set("mgmt_frame", Self.frame()), at: Self.at(20))
                == (.done, [.order(.authenticate(frame)), .event(.sent(frame))]))
        #expect(
            firmware.handle(.authenticationFrame([0xb0], Self.bss), at: Self.at(30))
                == [.event(.authenticationFrame([0xb0], from: Self.bss))])
        #expect(
            firmware.perform(try Self.set("auth_status", Self.outcome(4)), at: Self.at(40))
                == (.done, [.order(.associate)]))
        #expect(
            firmware.handle(.joined(Self.bss, request: [], response: []), at: Self.at(50)) == [
                .event(FirmwareEvent(code: .link, flags: 1, address: Self.home)),
                .event(FirmwareEvent(code: .setSSID, address: Self.home)),
            ])
        #expect(firmware.handle(.authenticationFrame([0xb0], Self.bss), at: Self.at(60)) == [], "it comes too late")
        #expect(
            firmware.perform(try Self.set("auth_status", Self.outcome(3)), at: Self.at(70)) == (.done, []))
    }

    @Test func theHostDoesNotAcceptTheAccessPoint() throws {
        var firmware = try joining()
        _ = firmware.handle(.authenticationWanted(Self.bss), at: Self.at(10))
        #expect(
            firmware.perform(try Self.set("auth_status", Self.outcome(3)), at: Self.at(20)) == (
                .done,
                [
                    .order(.leave(reason: 3)),
                    .event(FirmwareEvent(code: .setSSID, status: .failed, address: Self.home)),
                ]
            ))
        #expect(firmware.phase == .idle)
    }

    /// Frames to another access point, and where the firmware authenticates itself.
    @Test func whatIsNotAskedForIsRefused() throws {
        var firmware = try joining()
        _ = firmware.handle(.authenticationWanted(Self.bss), at: Self.at(10))
        let other = Self.frame(to: .list([2, 0, 0, 0, 2, 0])[0])
        #expect(
            firmware.perform(try Self.set("mgmt_frame", other), at: Self.at(20)) == (.refused(.notAssociated), []))
        // A key of an earlier authentication (PMKID).
        let known = [48, 38] + Self.sae.dropFirst(2) + [1, 0] + [UInt8](repeating: 9, count: 16)
        #expect(SecuritySuites(known[...])?.namesKey == true && SecuritySuites(Self.sae[...])?.namesKey == false)
        var itself = try joining(known)
        #expect(itself.handle(.authenticationWanted(Self.bss), at: Self.at(10)) == [])
        #expect(
            itself.perform(try Self.set("mgmt_frame", Self.frame()), at: Self.at(20))
                == (.refused(.notAssociated), []))
    }
}
