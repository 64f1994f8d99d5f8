import AgentModel
import Randomness
import Testing

@Suite struct IPAddressTests {
    @Test(
        arguments: [
            ("0.0.0.0", "0.0.0.0"), ("192.168.1.2", "192.168.1.2"), ("255.255.255.255", "255.255.255.255"),
            ("::", "::"), ("::1", "::1"), ("1::", "1::"), ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("2001:db8:0:0:0:0:2:1", "2001:db8::2:1"),
            ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("0:0:0:1:2:3:4:5", "::1:2:3:4:5"), ("1:2:3:4:5:0:0:0", "1:2:3:4:5::"),
            ("1::2:3:4:5:6:7", "1:0:2:3:4:5:6:7"), ("fe80::1%wlan0", "fe80::1"),
            ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
            ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"), ("::ffff:192.0.2.1", "192.0.2.1"),
            ("::FFFF:c000:201", "192.0.2.1"),
        ])
    func readsAndWrites(_ text: String, _ expected: String) throws {
        let address = try #require(IPAddress(text))
        #expect("\(address)" == expected)
        #expect(IPAddress(expected) == address)
        #expect(IPAddress(bytes: address.bytes) == address)
        #expect(address.bytes.count == address.family.byteCount)
    }

    @Test(
        arguments: [
            "", "%", "%wlan0", "x", "host", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.04", "1.2.3.", ".1.2.3",
            "1..2.3",
            "+1.2.3.4", "1.2.3.-4", " 1.2.3.4", "1.2.3.4 ", "1.2.3.4%wlan0", "0x1.2.3.4", "1.2.3.4\0", ":", ":::",
            "::1::", "1::2::3",
            ":1::", "1::2:", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8", "::1:2:3:4:5:6:7:8", "12345::",
            "::g",
            "::+1", "::-1", "1.2.3.4::", "::1.2.3.4:5", "::1.2.3", "1:2:3:4:5:6:7:1.2.3.4", "[::1]", "::1/64",
            "0000:0000:0000:0000:0000:0000:255.255.255.2550",
        ])
    func refusesWhatIsNone(_ text: String) { #expect(IPAddress(text) == nil) }

    @Test func bytesAreThoseOnTheWire() throws {
        #expect(try #require(IPAddress("192.0.2.33")).bytes == [192, 0, 2, 33])
        #expect(
            try #require(IPAddress("2001:db8::1")).bytes == [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
        #expect(IPAddress(bytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 33]) == IPAddress("192.0.2.33"))
        for count in [0, 3, 5, 15, 17] { #expect(IPAddress(bytes: Array(repeating: 1, count: count)) == nil) }
        #expect(IPAddress("0.0.0.1") != IPAddress("::1"))
    }

    enum Nature: CaseIterable {
        case unspecified, loopback, linkLocal, multicast, `private`, global

        func holds(for address: IPAddress) -> Bool {
            switch self {
            case .unspecified: address.isUnspecified
            case .loopback: address.isLoopback
            case .linkLocal: address.isLinkLocal
            case .multicast: address.isMulticast
            case .private: address.isPrivate
            case .global: address.isGlobal
            }
        }
    }

    @Test(
        arguments: [
            ("10.1.2.3", 8, true), ("10.1.2.3", 7, false), ("172.16.0.1", 12, true), ("172.16.0.1", 11, false),
            ("192.168.0.5", 16, true), ("192.168.0.5", 15, false), ("192.168.0.5", 8, false), ("192.168.0.5", 32, true),
            ("100.64.0.1", 10, true), ("100.64.0.1", 9, false), ("10.0.0.1", 0, false), ("8.8.8.8", 24, false),
            ("fd00::1", 64, true), ("fd00::1", 7, true), ("fd00::1", 6, false), ("fd00::1", 0, false),
        ])
    func aNetworkIsPrivateIfAllItsAddressesAre(_ text: String, _ prefix: Int, _ isPrivate: Bool) throws {
        #expect(try #require(IPAddress(text)).isPrivateNetwork(prefix: prefix) == isPrivate)
    }

    @Test(
        arguments: [
            ("0.0.0.0", .unspecified), ("::", .unspecified), ("127.0.0.1", .loopback), ("127.255.255.255", .loopback),
            ("::1", .loopback), ("169.254.1.1", .linkLocal), ("fe80::1", .linkLocal), ("febf::1", .linkLocal),
            ("224.0.0.251", .multicast), ("239.255.255.255", .multicast), ("ff02::1", .multicast),
            ("10.0.0.1", .private), ("172.16.0.1", .private), ("172.31.255.255", .private), ("192.168.0.1", .private),
            ("100.64.0.1", .private), ("100.127.255.255", .private), ("fc00::1", .private), ("fdff::1", .private),
            ("1.1.1.1", .global), ("9.255.255.255", .global), ("11.0.0.0", .global), ("172.15.0.1", .global),
            ("172.32.0.1", .global), ("192.167.0.1", .global), ("100.63.0.1", .global), ("100.128.0.1", .global),
            ("223.255.255.255", .global), ("203.0.113.1", .global), ("2000::", .global), ("2001:db8::1", .global),
            ("3fff::1", .global), ("0.0.0.1", nil), ("240.0.0.1", nil), ("255.255.255.255", nil), ("fec0::1", nil),
            ("4000::1", nil), ("64:ff9b::c000:221", .global), ("64:ff9b:1::1", nil),
        ] as [(String, Nature?)])
    func isOfOneNature(_ text: String, _ nature: Nature?) throws {
        let address = try #require(IPAddress(text))
        #expect(Nature.allCases.filter { $0.holds(for: address) } == [nature].compactMap { $0 })
    }

    @Test func sharesAPrefix() throws {
        func shares(_ left: String, _ right: String, _ length: Int) throws -> Bool {
            try #require(IPAddress(left)).shares(prefix: length, with: #require(IPAddress(right)))
        }
        #expect(try shares("192.0.2.1", "192.0.2.254", 24))
        #expect(try shares("192.0.2.1", "192.0.3.1", 23))
        #expect(try !shares("192.0.2.1", "192.0.3.1", 24))
        #expect(try shares("192.0.2.1", "10.0.0.1", 0))
        #expect(try !shares("192.0.2.1", "192.0.2.0", 32))
        #expect(try shares("192.0.2.1", "192.0.2.1", 200))
        #expect(try shares("192.0.2.1", "10.0.0.1", -1))
        #expect(try shares("2001:db8::1", "2001:db8::ffff:0:0:1", 64))
        #expect(try !shares("2001:db8::1", "2001:db8:0:1::1", 64))
        #expect(try !shares("0.0.0.1", "::1", 0))
    }

    /// Every address that is read is written in a form that reads the same, and nothing traps.
    @Test func anyText() {
        var random = SeededRandom(seed: 7)
        let pieces = [
            "0", "1", "9", "25", "255", "256", "a", "ffff", "12345", ".", ".", ":", ":", "::", "%", "-", "+", "é", "\0",
        ]
        var addresses = 0
        for _ in 0..<50_000 {
            let text = (0..<Int.random(in: 0...16, using: &random)).map { _ in pieces.randomElement(using: &random)! }
                .joined()
            guard let address = IPAddress(text) else { continue }
            addresses += 1
            #expect(IPAddress("\(address)") == address)
        }
        #expect(addresses > 50)
    }
}
