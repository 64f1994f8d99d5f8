import AgentModel
import Testing

@testable import Improv

private let start = Instant(milliseconds: 0)

/// The packets of the specification (Improv 2.4), byte for byte.
@Suite struct PacketTests {
    /// SSID = MyWirelessAP, Password = mysecurepassword.
    static let join = [0x01, 0x1e, 0x0c] + Array("MyWirelessAP".utf8) + [0x10] + Array("mysecurepassword".utf8)

    static func withChecksum(_ bytes: [UInt8]) -> [UInt8] { bytes + [checksum(bytes)] }

    static func read(_ bytes: [UInt8], in size: Int = 20) -> Result<ImprovCommand, ImprovError>? {
        var assembler = ImprovAssembler()
        var rest = bytes[...]
        while !rest.isEmpty {
            do throws(ImprovError) {
                if let command = try assembler.add(rest.prefix(size), at: start) { return .success(command) }
            } catch {
                return .failure(error)
            }
            rest = rest.dropFirst(size)
        }
        return nil
    }

    @Test func theNetworkOfTheSpecification() throws {
        let ssid = try SSID("MyWirelessAP")
        #expect(Self.withChecksum(Self.join).last == 0xc0)
        for size in [1, 2, 20, 100] {
            let command = Self.read(Self.withChecksum(Self.join), in: size)
            #expect(command == .success(.join(ssid: ssid, password: Secret(text: "mysecurepassword"))), "\(size)")
        }
    }

    @Test func theOtherCommands() {
        #expect(Self.read([2, 0, 2]) == .success(.identify))
        #expect(Self.read([3, 0, 3]) == .success(.deviceInfo))
        #expect(Self.read([4, 0, 4]) == .success(.scan))
        #expect(Self.read([5, 0, 5]) == .success(.hostName))
        #expect(Self.read([6, 0, 6]) == .success(.deviceName))
        // The device's names are its owner's to change.
        #expect(Self.read(Self.withChecksum([5, 1, 0x61])) == .failure(.badHostName))
        #expect(Self.read([7, 0, 7]) == .failure(.unknownCommand))
    }

    @Test func anOpenNetwork() throws {
        let ssid = try SSID("Cafe")
        let packet = Self.withChecksum([1, 6, 4] + Array("Cafe".utf8) + [0])
        #expect(Self.read(packet) == .success(.join(ssid: ssid, password: nil)))
    }

    @Test(
        arguments: [
            // A wrong checksum; more than the length says; data behind a command that has none.
            [2, 0, 3], [2, 0, 2, 0], [2, 1, 0, 3],
            // An SSID of nothing, of more than 32 bytes, that ends before its length, a password that does.
            withChecksum([1, 2, 0, 0]), withChecksum([1, 35, 33] + [UInt8](repeating: 0x61, count: 33) + [0]),
            withChecksum([1, 2, 9, 0x61]), withChecksum([1, 3, 1, 0x61, 4]), withChecksum([1, 0]),
            // Bytes behind the password.
            withChecksum([1, 4, 1, 0x61, 0, 0]),
        ] as [[UInt8]])
    func badPackets(packet: [UInt8]) {
        #expect(Self.read(packet, in: 300) == .failure(.invalidPacket))
    }

    /// The second piece of 20 bytes before the first, and then the packet as it should be.
    @Test func piecesOutOfOrder() throws {
        let packet = Self.withChecksum(Self.join)
        var assembler = ImprovAssembler()
        #expect(throws: ImprovError.invalidPacket) { try assembler.add(packet[20...], at: start) }
        #expect(try assembler.add(packet[..<20], at: start) == nil)
        #expect(try assembler.add(packet[20...], at: start) != nil)
    }

    @Test func anOffsetHasToBeWhatIsThere() throws {
        let packet = Self.withChecksum(Self.join)
        var assembler = ImprovAssembler()
        _ = try assembler.add(packet[..<20], offset: 0, at: start)
        #expect(throws: ImprovError.invalidPacket) { try assembler.add(packet[20...], offset: 19, at: start) }
        _ = try assembler.add(packet[..<20], offset: 0, at: start)
        #expect(try assembler.add(packet[20...], offset: 20, at: start) != nil)
    }

    @Test func whatWasBegunLongAgoIsForgotten() throws {
        let packet = Self.withChecksum(Self.join)
        var assembler = ImprovAssembler()
        _ = try assembler.add(packet[..<20], at: start)
        #expect(try assembler.add([2, 0, 2], at: start + ImprovAssembler.patience + .milliseconds(1)) == .identify)
    }

    @Test func results() {
        let page = ImprovResult(.join, texts: ["http://192.168.1.2/"])
        let bytes: [UInt8] = [1, 20, 19] + Array("http://192.168.1.2/".utf8)
        #expect(page.bytes == Self.withChecksum(bytes))
        #expect(ImprovResult(.join).bytes == [1, 0, 1])
        // What does not fit into the length of one byte is left out.
        let long = ImprovResult(.scan, texts: ["a", String(repeating: "b", count: 253), "c"])
        #expect(long.texts.count == 1 && long.bytes.count == 2 + 2 + 1)
    }
}

@Suite struct SerialTests {
    private static func packet(_ type: UInt8, _ data: [UInt8], version: UInt8 = 1) -> [UInt8] {
        PacketTests.withChecksum(Array("IMPROV".utf8) + [version, type, UInt8(data.count)] + data)
    }

    @Test func theNetworkOfTheSpecification() throws {
        var reader = ImprovSerialReader()
        let found = reader.add(Self.packet(3, PacketTests.join))
        #expect(found == [.success(.join(ssid: try SSID("MyWirelessAP"), password: Secret(text: "mysecurepassword")))])
    }

    /// As a browser sends it: one command after the other, with a line feed, on a line with a console.
    @Test func betweenLinesOfAConsole() {
        var reader = ImprovSerialReader()
        let line =
            Array("login: IMPIMPROVX\n".utf8) + Self.packet(3, [2, 0]) + [10] + Array("[ 3.1] usb IMPROV".utf8) + [10]
            + Self.packet(3, [3, 0]) + [10]
        var found: [Result<ImprovCommand, ImprovError>] = []
        for byte in line { found += reader.add([byte]) }
        #expect(found == [.success(.currentState), .success(.deviceInfo)])
    }

    @Test func aWrongChecksum() {
        var packet = Self.packet(3, [2, 0])
        packet[packet.count - 1] &+= 1
        var reader = ImprovSerialReader()
        #expect(reader.add(packet + Self.packet(3, [4, 0])) == [.failure(.invalidPacket), .success(.scan)])
    }

    /// A byte is lost on the line: the packet within what is left is found.
    @Test func aLostByte() {
        var packet = Self.packet(3, [2, 0])
        packet.remove(at: 9)
        var reader = ImprovSerialReader()
        #expect(reader.add(packet + Self.packet(3, [3, 0])).last == .success(.deviceInfo))
    }

    @Test func whatTheDeviceSaysIsNoCommand() {
        var reader = ImprovSerialReader()
        #expect(reader.add(Self.packet(1, [2]) + Self.packet(4, [1, 0]) + Self.packet(3, [2, 0], version: 9)).isEmpty)
        #expect(reader.add(Self.packet(7, [0])) == [.failure(.invalidPacket)])
        #expect(reader.add(Self.packet(3, [2, 5])) == [.failure(.invalidPacket)])
    }

    @Test func packetsOfTheDevice() {
        let header = Array("IMPROV".utf8) + [1]
        let state = header + [1, 1, 2]
        #expect(ImprovSerialPacket.state(.authorized) == PacketTests.withChecksum(state) + [10])
        #expect(ImprovSerialPacket.error(.unableToConnect) == PacketTests.withChecksum(header + [2, 1, 3]) + [10])
        let result = header + [4, 2, 1, 0]
        #expect(ImprovSerialPacket.result(ImprovResult(.join)) == PacketTests.withChecksum(result) + [10])
        // The packet's length counts command and length as well.
        let long = ImprovSerialPacket.result(
            ImprovResult(.join, texts: ["a", String(repeating: "b", count: 252)]))
        #expect(long[8] == 4)
    }
}
