import Testing

@testable import DHCP

@Suite struct UDPDatagramTests {
    @Test func aPacketOfAnotherProgramIsRead() throws {
        let datagram = try UDPDatagram(reading: Vectors.scapyOffer)
        #expect("\(datagram.source) \(datagram.destination)" == "192.168.7.1 192.168.7.50")
        #expect(datagram.payload.count == 385)
        #expect(try UDPDatagram(reading: Vectors.scapyOffer + [1, 2, 3]) == datagram)
    }

    /// The kernel leaves the checksum of packets between virtual links undone.
    @Test func aPartialChecksumIsTakenOnlyWhereTheKernelSaysSo() throws {
        #expect(throws: UDPDatagramError.badChecksum) { try UDPDatagram(reading: Vectors.dnsmasqOffer) }
        #expect(try UDPDatagram(reading: Vectors.dnsmasqOffer, checksum: .partial).source.isHost)
        var without = Vectors.dnsmasqOffer
        without.replaceSubrange(26..<28, with: [0, 0])
        #expect(try UDPDatagram(reading: without).source.isHost)
    }

    @Test(arguments: [
        (0, 0x65, UDPDatagramError.notForUs), (0, 0x44, .malformed), (0, 0x4f, .badChecksum), (2, 0xff, .malformed),
        (3, 0x13, .badChecksum), (6, 0x20, .fragment), (7, 1, .fragment), (9, 6, .notForUs), (10, 0, .badChecksum),
        (12, 1, .badChecksum), (23, 67, .notForUs), (24, 0xff, .malformed),
        (40, 1, .badChecksum),
    ])
    func whatIsNoDatagramIsRefused(place: Int, byte: UInt8, error: UDPDatagramError) {
        var bytes = Vectors.scapyOffer
        bytes[place] = byte
        #expect(throws: error) { try UDPDatagram(reading: bytes) }
    }

    @Test func noPrefixIsADatagram() {
        for count in 0..<Vectors.scapyOffer.count {
            #expect(throws: (any Error).self) { try UDPDatagram(reading: Vectors.scapyOffer.prefix(count)) }
        }
    }

    /// The bytes are scapy's.
    @Test func aPacketIsWrittenWithChecksums() {
        let packet = UDPDatagram(source: .unspecified, destination: .broadcast, payload: [1, 2, 3]).packet
        #expect(packet == Vectors.bytes("4510001f0000400040113abf00000000ffffffff00440043000bfb4f010203"))
    }
}

@Suite struct DHCPMessageTests {
    static func message(_ vector: [UInt8]) throws -> DHCPMessage {
        try DHCPMessage(reading: UDPDatagram(reading: vector, checksum: .partial).payload)
    }

    @Test func answersOfOtherProgramsAreRead() throws {
        let kinds: [DHCPMessage.Kind] = [.offer, .offer, .ack, .nak, .ack]
        let vectors = [
            Vectors.scapyOffer, Vectors.dnsmasqOffer, Vectors.dnsmasqAck, Vectors.dnsmasqNak, Vectors.dnsmasqRapid,
        ]
        for (kind, vector) in zip(kinds, vectors) {
            let message = try Self.message(vector)
            #expect(message.kind == kind && message.operation == .reply)
            #expect("\(message.hardware)" == "02:00:00:00:00:01")
        }
        #expect(try Self.message(Vectors.scapyOffer).transaction == 0x3903_f326)
        #expect(try Self.message(Vectors.dnsmasqRapid).options[.rapidCommit] == [])
        #expect(
            try Self.message(Vectors.dnsmasqNak).options[.text].map { String(decoding: $0, as: UTF8.self) }
                == "wrong address")
    }

    @Test func aMessageReadsAsItIsWritten() throws {
        var message = DHCPMessage(.request, .request, transaction: 7, hardware: Server.client)
        (message.seconds, message.wantsBroadcast) = (3, true)
        message.options.append(.parameterList, [1, 3])
        message.options.append(.searchDomains, [UInt8](repeating: 7, count: 600))
        message.options.append(.rapidCommit, [])
        #expect(try DHCPMessage(reading: message.bytes) == message)
        #expect(DHCPMessage(.request, .discover, transaction: 0, hardware: Server.client).bytes.count == 300)
    }

    private static func bytes(_ options: [UInt8], serverName: [UInt8] = [], file: [UInt8] = []) -> [UInt8] {
        var bytes = DHCPMessage(.reply, .ack, transaction: 0, hardware: Server.client).bytes
        bytes.replaceSubrange(240..., with: [53, 1, 5] + options)
        bytes.replaceSubrange(44..<(44 + serverName.count), with: serverName)
        bytes.replaceSubrange(108..<(108 + file.count), with: file)
        return bytes
    }

    /// RFC 3396, 7.
    @Test func partsOfAnOptionAreOneValue() throws {
        let message = try DHCPMessage(reading: Self.bytes([15, 2, 97, 98, 0, 6, 4, 1, 2, 3, 4, 15, 1, 99, 255]))
        #expect(message.options[.domainName] == [97, 98, 99])
        #expect(message.options[.nameServers] == [1, 2, 3, 4])
    }

    @Test func optionsGoOnInOtherFields() throws {
        let file: [UInt8] = [15, 1, 98, 255]
        let name: [UInt8] = [15, 1, 99, 255]
        func domain(_ overload: UInt8) throws -> [UInt8]? {
            try DHCPMessage(reading: Self.bytes([52, 1, overload, 15, 1, 97, 255], serverName: name, file: file))
                .options[.domainName]
        }
        #expect(try domain(1) == [97, 98] && domain(2) == [97, 99] && domain(3) == [97, 98, 99])
        #expect(try domain(4) == [97])
    }

    /// The field for a file says that options go on in the field for a file.
    @Test func overloadDoesNotLeadRoundInACircle() throws {
        let loop: [UInt8] = [52, 1, 3, 15, 1, 98, 255]
        let message = try DHCPMessage(reading: Self.bytes([52, 1, 3, 255], serverName: loop, file: loop))
        #expect(message.options[.domainName] == [98, 98])
    }

    @Test(
        arguments: [
            ([15, 9, 97, 255], DHCPMessageError.truncatedOption(.domainName)), ([15], .truncatedOption(.domainName)),
        ] as [([UInt8], DHCPMessageError)])
    func badOptionsAreRefused(options: [UInt8], error: DHCPMessageError) {
        #expect(throws: error) { try DHCPMessage(reading: Self.bytes(options)) }
    }

    @Test func manyOptionsAreRead() throws {
        let many = [UInt8](repeating: 0, count: 200) + (0..<400).flatMap { [UInt8($0 % 200 + 1), 0] }
        let message = try DHCPMessage(reading: Self.bytes(many.filter { $0 != 53 && $0 != 52 } + [255]))
        #expect(message.kind == .ack)
    }

    /// Some servers send 255 as the length of a hardware address.
    @Test func theKindAndTheLengthOfHardwareAddressesDoNotMatter() throws {
        var bytes = Self.bytes([255])
        bytes.replaceSubrange(1...2, with: [6, 255])
        #expect(try DHCPMessage(reading: bytes).hardware == DHCPMessage(reading: Self.bytes([255])).hardware)
    }

    @Test func otherLengthsAndCookiesAreRefused() {
        let good = Self.bytes([255])
        for (place, byte, error) in [
            (0, 3, DHCPMessageError.badHeader), (236, 0, .noOptions),
        ] as [(Int, UInt8, DHCPMessageError)] {
            var bytes = good
            bytes[place] = byte
            #expect(throws: error) { try DHCPMessage(reading: bytes) }
        }
        #expect(throws: DHCPMessageError.badLength) { try DHCPMessage(reading: good.prefix(239)) }
        #expect(throws: DHCPMessageError.badLength) { try DHCPMessage(reading: [UInt8](repeating: 1, count: 125_000)) }
        #expect(throws: DHCPMessageError.noKind) {
            var bytes = good
            bytes[242] = 99
            _ = try DHCPMessage(reading: bytes)
        }
    }
}

@Suite struct ARPMessageTests {
    @Test func messagesOfAnotherProgramAreReadAndWritten() throws {
        let address = try #require(IPv4Address("192.168.7.50"))
        #expect(ARPMessage.probe(address, from: Server.client).bytes == Vectors.scapyProbe)
        let reply = try ARPMessage(reading: Vectors.scapyReply + [0, 0])
        #expect(reply.operation == .reply && reply.target == address && reply.targetHardware == Server.client)
        #expect("\(reply.sender) \(reply.senderHardware)" == "192.168.7.1 02:00:00:00:00:fe")
        #expect(reply.bytes == Vectors.scapyReply)
    }

    @Test(arguments: [(0, 1), (2, 9), (4, 8), (5, 16), (7, 3), (7, 0)] as [(Int, UInt8)])
    func otherKindsAreRefused(place: Int, byte: UInt8) {
        var bytes = Vectors.scapyReply
        bytes[place] = byte
        #expect(throws: ARPMessageError.unknown) { try ARPMessage(reading: bytes) }
    }

    @Test func aGroupSendsNothing() {
        var bytes = Vectors.scapyReply
        bytes[8] = 1
        #expect(throws: ARPMessageError.noSender) { try ARPMessage(reading: bytes) }
        #expect(throws: ARPMessageError.truncated) { try ARPMessage(reading: bytes.prefix(27)) }
    }
}
