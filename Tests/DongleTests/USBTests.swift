import AgentModel
import Testing

@testable import Dongle

/// Messages of USB/IP as the kernel sends them.
@Suite struct USBTests {
    static func bytes(_ text: String) throws -> [UInt8] {
        try #require(Hex.bytes(text.filter { !$0.isWhitespace }))
    }

    private static let padding = String(repeating: "00", count: 20)
    /// CMD_SUBMIT of 1600 bytes from endpoint 1, and of 20 bytes to endpoint 0.
    private static let bulk =
        "00000001 00000102 00010002 00000001 00000001 00000200 00000640 00000000 00000000 00000000 0000000000000000"
    private static let control =
        "00000001 00000103 00010002 00000000 00000000 00000000 00000014 00000000 00000000 00000000 2100 0000 0000 1400"

    @Test func transfers() throws {
        let bulk = try USBIPRequest(header: Self.bytes(Self.bulk)[...])
        #expect(
            bulk
                == .submit(
                    URB(
                        sequence: 0x102, isToHost: true, endpoint: 1, length: 1600,
                        setup: SetupPacket(requestType: 0, request: 0))))
        #expect(bulk.payloadLength == 0)
        let control = try USBIPRequest(header: Self.bytes(Self.control)[...])
        guard case .submit(let urb) = control else { throw DongleError.missing("transfer") }
        #expect(control.payloadLength == 20)
        #expect(urb.setup == SetupPacket(requestType: 0x21, request: 0, length: 20))
        #expect(ControlRequest(urb.setup) == .command)
    }

    @Test func transfersThatAreTakenBack() throws {
        let unlink =
            "00000002 00000104 00010002 00000000 00000000 00000102 00000000 00000000 00000000 00000000 0000000000000000"
        #expect(
            try USBIPRequest(header: Self.bytes(unlink)[...]) == .unlink(sequence: 0x104, victim: 0x102))
        #expect(
            try USBIPAnswer.unlinked(sequence: 0x104, wasPending: true).bytes
                == Self.bytes("00000004 00000104 000000000000000000000000 ffffff98 00000000 \(Self.padding)"))
    }

    @Test func answers() throws {
        #expect(
            try USBIPAnswer.received(sequence: 7, [1, 2, 3]).bytes
                == Self.bytes("00000003 00000007 000000000000000000000000 00000000 00000003 \(Self.padding) 010203"))
        #expect(
            try USBIPAnswer.stalled(sequence: 7).bytes
                == Self.bytes("00000003 00000007 000000000000000000000000 ffffffe0 00000000 \(Self.padding)"))
    }

    /// Cut off, of an unknown kind, and longer than anything that is believed.
    @Test(arguments: [
        "00000001", String(repeating: "00", count: 48),
        "00000001 00000001 00010002 00000000 00000002 00000000 7fffffff"
            + String(repeating: "00", count: 20),
    ]) func whatMakesNoSense(header: String) throws {
        let bytes = try Self.bytes(header)
        #expect(throws: DongleError.self) { try USBIPRequest(header: bytes[...]) }
    }

    @Test func descriptors() throws {
        func answer(_ type: UInt16, _ number: UInt16 = 0, length: UInt16 = 255) -> ControlRequest {
            ControlRequest(SetupPacket(requestType: 0x80, request: 6, value: type << 8 | number, length: length))
        }
        guard case .data(let device) = answer(1) else { throw DongleError.missing("device descriptor") }
        #expect(device.count == 18 && device[8...11] == [0xb4, 0x04, 0xdc, 0x0b])
        #expect(answer(1, length: 8) == .data(Array(device.prefix(8))))
        guard case .data(let configuration) = answer(2) else { throw DongleError.missing("configuration") }
        #expect(configuration.count == 32 && configuration[2] == 32)
        #expect(answer(3, 1) == .data([16, 3] + "Cypress".utf8.flatMap { [$0, 0] }))
        #expect(answer(3, 9) == .unknown && answer(6) == .unknown)
        // The boot loader's version: the firmware runs.
        #expect(
            ControlRequest(SetupPacket(requestType: 0xc1, request: 5, length: 24))
                == .data([0x23, 0xa1, 0, 0, 6] + Array(repeating: 0, count: 19)))
    }
}

/// Commands as brcmfmac sends them.
@Suite struct FirmwareCommandTests {
    @Test func aVariableIsAskedFor() throws {
        // GET_VAR of 6 bytes, request 1: "cur_etheraddr", NUL.
        let bytes = try USBTests.bytes("06010000 06000000 00000100 00000000 6375725f6574686572616464720000")
        let command = try FirmwareCommand(bytes[...])
        #expect(command.subject == .variable("cur_etheraddr") && !command.isSet && command.outputLength == 6)
        #expect(
            try command.response(.data([2, 0, 0, 0, 0, 0]))
                == USBTests.bytes("06010000 06000000 00000100 00000000 020000000000"))
        #expect(
            try command.response(.refused(.unsupported))
                == USBTests.bytes("06010000 06000000 01000100 e9ffffff 000000000000"))
    }

    @Test func aVariableIsSet() throws {
        let bytes = try USBTests.bytes("07010000 10000000 02000200 00000000 6263 6e5f74696d656f757400 04000000")
        let command = try FirmwareCommand(bytes[...])
        #expect(command.subject == .variable("bcn_timeout") && command.isSet)
        #expect(command.argument.little(0, as: UInt32.self) == 4)
    }

    @Test func theNumberOfAnInterface() throws {
        let name = Array("bsscfg:wpa_auth".utf8) + [0]
        let bytes = try USBTests.bytes("07010000 18000000 02000200 00000000") + name + [1, 0, 0, 0, 0x80, 0, 0, 0]
        let command = try FirmwareCommand(bytes[...])
        #expect(command.subject == .variable("wpa_auth") && command.argument.little(0, as: UInt32.self) == 0x80)
        #expect(command.interface == 1)
        // In the flags where no variable has it: authorise a station of the interface 2.
        #expect(try FirmwareCommand(USBTests.bytes("79000000 06000000 02200300 00000000")[...]).interface == 2)
    }

    /// Cut off at every place, with a name that does not end, is too long, or is no text.
    @Test func whatIsNotUnderstood() throws {
        let header = try USBTests.bytes("07010000 18000000 02000200 00000000")
        for length in 0..<16 { #expect(throws: DongleError.self) { try FirmwareCommand(header.prefix(length)) } }
        for name in [[], [0x61, 0x62], Array(repeating: 0x61, count: 64) + [0], [0xff, 0]] as [[UInt8]] {
            #expect(throws: DongleError.self) { try FirmwareCommand((header + name)[...]) }
        }
    }

    @Test func anEventIsAFrame() throws {
        let own = try #require(BSSID("02:00:00:00:00:00"))
        let event = FirmwareEvent(code: .link, flags: 1, address: BSSID("02:00:00:00:01:00"))
        let expected = """
            020000000000 020000000000 886c  8001 0036 00 001018 0001
            0002 0001 00000010 00000000 00000000 00000000 00000000 020000000100
            776c3000000000000000000000000000 00 00
            """
        #expect(try event.frame(from: own) == USBTests.bytes(expected))
        #expect(
            try FrameHeader.frame(in: USBTests.bytes("20000001 00000000" + String(repeating: "aa", count: 15))[...])?
                .frame.count == 15)
        #expect(
            try FrameHeader.frame(in: USBTests.bytes("20000100" + String(repeating: "aa", count: 15))[...])?.interface
                == 1)
        #expect(try FrameHeader.frame(in: USBTests.bytes("200000ff" + String(repeating: "aa", count: 15))[...]) == nil)
        #expect(FrameHeader.frame(in: []) == nil)
    }
}
