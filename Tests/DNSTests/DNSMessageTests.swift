import Randomness
import Testing

@testable import DNS

@Suite struct DNSMessageTests {
    static let type = DNSName.altnetDevices

    /// An answer as a responder sends it: PTR, SRV, TXT and A, with every name compressed.
    static let answer: [UInt8] = {
        let parts: [[UInt8]] = [
            // An id, a response, 1 question, 1 answer, 4 additional records.
            [0x12, 0x34, 0x84, 0, 0, 1, 0, 1, 0, 0, 0, 4],
            // The name is at 12, local at 25.
            label("_altnet"), label("_tcp"), label("local"), [0, 0, 12, 0, 1],
            // The instance is at 48.
            [0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 10, 0, 7], label("Lamp"), [0xc0, 12],
            // The host is at 73.
            [0xc0, 48, 0, 33, 0, 1, 0, 0, 0, 10, 0, 13, 0, 0, 0, 0, 0x65, 0x07], label("lamp"), [0xc0, 25],
            [0xc0, 48, 0, 16, 0x80, 1, 0, 0, 0, 10, 0, 15], label("v=1"), label("ID=lamp-01"),
            [0xc0, 73, 0, 1, 0, 1, 0, 0, 0, 10, 0, 4, 192, 168, 1, 5],
            [0xc0, 73, 0, 28, 0, 1, 0, 0, 0, 10, 0, 16, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        ]
        return Array(parts.joined())
    }()

    private static func label(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    @Test func anAnswerIsRead() throws {
        let message = try DNSMessage(reading: Self.answer)
        #expect(message.id == 0x1234)
        #expect(message.isResponse)
        #expect(message.questions == [DNSQuestion(Self.type, .pointer)])
        let lamp = try #require(DNSName(labels: [Array("Lamp".utf8)] + Self.type.labels))
        let host = try #require(DNSName("lamp.local"))
        let data: [(DNSName, DNSRecord.Data)] = [
            (Self.type, .pointer(lamp)), (lamp, .service(host: host, port: 25_863)),
            (lamp, .text([Array("v=1".utf8), Array("ID=lamp-01".utf8)])), (host, .ipv4([192, 168, 1, 5])),
            (host, .ipv6([0xfe, 0x80] + Array(repeating: 0, count: 13) + [1])),
        ]
        #expect(message.records == data.map { DNSRecord(name: $0.0, timeToLive: 10, data: $0.1) })
    }

    @Test func aQueryIsWhatTheStandardSays() throws {
        let query = DNSMessage(asking: [DNSQuestion(Self.type, .pointer)], id: 0x1234).query
        let parts: [[UInt8]] = [
            [0x12, 0x34, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0], Self.label("_altnet"), Self.label("_tcp"), Self.label("local"),
            [0, 0, 12, 0, 1],
        ]
        #expect(query == Array(parts.joined()))
        let read = try DNSMessage(reading: query)
        #expect(read == DNSMessage(asking: [DNSQuestion(Self.type, .pointer)], id: 0x1234))
    }

    /// RFC 1035, 4.1.1.
    @Test func aNameServerIsAskedToFindOut() throws {
        let question = DNSQuestion(try #require(DNSName("a.example")), .ipv6)
        let query = DNSMessage(asking: [question], id: 7, recursively: true)
        #expect(Array(query.query.prefix(4)) == [0, 7, 1, 0])
        #expect(try DNSMessage(reading: query.query) == query)
    }

    @Test func theHeaderSaysHowItWent() throws {
        let fine = try DNSMessage(reading: [0, 1, 0x81, 0x80, 0, 0, 0, 0, 0, 0, 0, 0])
        #expect(fine.isResponse && !fine.isTruncated && fine.responseCode == .success)
        let cut = try DNSMessage(reading: [0, 1, 0x83, 0x83, 0, 0, 0, 0, 0, 0, 0, 0])
        #expect(cut.isResponse && cut.isTruncated && cut.responseCode == .unknownName)
        #expect(try DNSMessage(reading: [0, 1, 0x80, 0x85, 0, 0, 0, 0, 0, 0, 0, 0]).responseCode.rawValue == 5)
    }

    /// An unasked record is no answer.
    @Test func answersAreThoseOfTheFirstSection() throws {
        let alias: [UInt8] = [1, 0x61, 0, 0, 5, 0, 1, 0, 0, 0, 9, 0, 3, 1, 0x62, 0]
        let address: [UInt8] = [1, 0x62, 0, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 192, 0, 2, 1]
        let message = try DNSMessage(reading: [0, 1, 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 1] + alias + address)
        #expect(message.records.count == 2)
        #expect(message.answers.map(\.data) == [.alias(try #require(DNSName("b")))])
    }

    private static func message(_ record: [UInt8]) -> [UInt8] { [0, 1, 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 0] + record }

    @Test(arguments: [
        ([0xc0, 12], DNSMessageError.badName),  // to itself
        ([0xc0, 20], .badName), ([0xc0, 0xff], .badName),  // forward
        ([1, 0x61, 0xc0, 12], .badName),  // round in a circle
        ([0x40, 0], .badName), ([0x80, 0], .badName),  // kinds of label that are not defined
        ([0xc0], .truncated), ([5, 0x61], .truncated), ([], .truncated), ([1, 0x61], .truncated),
        ([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4], .truncated),
        ([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 3, 1, 2, 3], .badRecord),
        ([0, 0, 28, 0, 1, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4], .badRecord),
        ([0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 2, 5, 0x61], .badRecord),  // a string beyond its record
        ([0, 0, 12, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0], .badRecord),  // something after the name
        ([0, 0, 33, 0, 1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0], .truncated),
    ])
    func nonsenseIsRefused(record: [UInt8], error: DNSMessageError) {
        #expect(throws: error) { try DNSMessage(reading: Self.message(record)) }
    }

    /// A pointer to a pointer to a pointer: no circle, and no name either.
    @Test func longNamesAreRefused() {
        var bytes: [UInt8] = [0, 1, 0x80, 0, 0, 4, 0, 0, 0, 0, 0, 0]
        var previous: UInt8?
        for _ in 0..<4 {
            let start = UInt8(bytes.count)
            bytes += [63] + Array(repeating: 0x61, count: 63)
            bytes += previous.map { [0xc0, $0] } ?? [0]
            bytes += [0, 12, 0, 1]
            previous = start
        }
        #expect(throws: DNSMessageError.badName) { try DNSMessage(reading: bytes) }
        #expect(throws: DNSMessageError.tooLarge) { try DNSMessage(reading: Array(repeating: 0, count: 9001)) }
        #expect(throws: DNSMessageError.tooLarge) { try DNSMessage(reading: [0, 1, 0x80, 0, 0, 0, 2, 1, 0, 0, 0, 0]) }
        #expect(throws: DNSMessageError.tooLarge) {
            try DNSMessage(reading: [0, 1, 0x80, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0])
        }
    }

    @Test func otherTypesAndClassesAreSteppedOver() throws {
        let nsec = Self.message([0, 0, 47, 0, 1, 0, 0, 0, 9, 0, 3, 0xff, 0xff, 0xff])
        #expect(try DNSMessage(reading: nsec).records.map(\.data) == [.other])
        let chaos = Self.message([0, 0, 1, 0, 3, 0, 0, 0, 9, 0, 1, 7])
        #expect(try DNSMessage(reading: chaos).records.map(\.data) == [.other])
    }

    @Test func everyBeginningOfAMessageIsRefused() {
        for count in 0..<Self.answer.count {
            #expect(throws: DNSMessageError.truncated) { try DNSMessage(reading: Self.answer.prefix(count)) }
        }
    }

    /// Every message is read or refused, and the result is bounded.
    @Test func damagedMessagesAreReadOrRefused() {
        var random = SeededRandom(seed: 3)
        var read = 0
        for _ in 0..<20_000 {
            var bytes = Self.answer
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[Int.random(in: bytes.indices, using: &random)] = 0xc0
                case 2: bytes.remove(at: Int.random(in: bytes.indices, using: &random))
                default: bytes += bytes.suffix(Int.random(in: 1...40, using: &random))
                }
            }
            guard let message = try? DNSMessage(reading: bytes) else { continue }
            read += 1
            var assembly = ServiceAssembly(type: Self.type)
            assembly.add(message, from: "eth0")
            #expect(assembly.instances.count <= message.records.count)
            for record in message.records {
                #expect(record.name.labels.reduce(1) { $0 + $1.count + 1 } <= 255)
                #expect(record.name.description.utf8.allSatisfy { (0x21...0x7e).contains($0) })
            }
        }
        #expect(read > 1000)
    }

    @Test func noiseIsReadOrRefused() {
        var random = SeededRandom(seed: 4)
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            _ = try? DNSMessage(reading: bytes)
        }
    }
}

@Suite struct DNSNameTests {
    @Test func namesAreWrittenAsInMasterFiles() throws {
        let name = try #require(DNSName(labels: [Array("a.b\\c d\u{1b}".utf8) + [0xff], Array("local".utf8)]))
        #expect(name.description == #"a\.b\\c\032d\027\255.local"#)
    }

    @Test func lettersAreEqualInEitherCase() {
        #expect(DNSName("Lamp.LOCAL") == DNSName("lamp.local"))
        #expect(DNSName("Lamp.LOCAL")?.hashValue == DNSName("lamp.local")?.hashValue)
        #expect(DNSName("[.local") != DNSName("{.local"))
    }

    @Test func limitsAreThoseOfTheStandard() {
        #expect(DNSName(labels: [Array(repeating: 0x61, count: 63)]) != nil)
        #expect(DNSName(labels: [Array(repeating: 0x61, count: 64)]) == nil)
        #expect(DNSName("a..b") == nil)
        let label = Array(repeating: UInt8(0x61), count: 63)
        #expect(DNSName(labels: [label, label, label, Array(label.prefix(61))]) != nil)
        #expect(DNSName(labels: [label, label, label, Array(label.prefix(62))]) == nil)
    }
}
