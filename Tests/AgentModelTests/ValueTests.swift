import Randomness
import Testing

@testable import AgentModel

@Suite struct SSIDTests {
    @Test func hasOneTo32Bytes() throws {
        #expect(throws: InvalidSSID(length: 0)) { try SSID("") }
        #expect(throws: InvalidSSID(length: 33)) { try SSID(bytes: repeatElement(0x61, count: 33)) }
        #expect(try SSID(bytes: repeatElement(0xff, count: 32)).bytes.count == 32)
        #expect(throws: InvalidSSID(length: 34)) { try SSID("ääääääääääääääääa\u{20}") }
    }

    @Test(arguments: [
        ("Home Net", "Home Net"), ("Café Zürich", "Café Zürich"), ("家", "家"), ("a\\b", "a\\\\b"),
        ("\u{1b}[2J", "\\x1b[2J"), ("a\nb\0", "a\\x0ab\\x00"), ("\u{202e}abc", "\\xe2\\x80\\xaeabc"),
        ("a\u{301}", "a\\xcc\\x81"), ("\u{a0}", "\\xc2\\xa0"), ("\u{9b}31m", "\\xc2\\x9b31m"),
    ])
    func printsSafely(text: String, shown: String) throws {
        #expect(try SSID(text).description == shown)
    }

    @Test func printsBytesThatAreNotText() throws {
        let ssid = try SSID(bytes: [0xff, 0x41, 0x5c, 0x00])
        #expect(ssid.text == nil)
        #expect(ssid.description == "\\xffA\\\\\\x00")
    }

    /// For any bytes, the printed text has no control characters, and different SSIDs never look the same.
    @Test func isSafeAndUnambiguousForAnyBytes() throws {
        var random = SeededRandom(seed: 1)
        var seen: [String: SSID] = [:]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 1...32, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let ssid = try SSID(bytes: bytes)
            let shown = ssid.description
            #expect(!shown.unicodeScalars.contains { $0.properties.generalCategory == .control })
            if let other = seen.updateValue(ssid, forKey: shown) { #expect(other == ssid) }
        }
    }

    /// Each form of the same bytes as it has been on disk, on the wire and in the settings of wpa_supplicant, and read
    /// again.
    @Test(arguments: [
        ("Home Net", "Home Net", "486f6d65204e6574"), ("a\\b", #"a\\b"#, "615c62"),
        ("Café_1.x", "Café_1.x", "436166c3a95f312e78"), ("\u{1b}\n", #"\x1b\x0a"#, "1b0a"),
        ("-/%,", "-/%,", "2d2f252c"),
    ])
    func everyFormIsReadAsItIsWritten(text: String, shown: String, hex: String) throws {
        let ssid = try SSID(text)
        #expect(ssid.description == shown && SSID(description: shown) == ssid)
        #expect(ssid.hex == hex)
        let members = SSID.JSONMembers(ssid)
        #expect(members == SSID.JSONMembers(ssid: text, ssidHex: nil))
        #expect(try members.name == ssid)
    }

    @Test func bytesThatAreNoTextHaveFormsToo() throws {
        let ssid = try SSID(bytes: [0xff, 0x41, 0x5c, 0x00])
        #expect(SSID(description: #"\xffA\\\x00"#) == ssid && SSID(description: #"\xFF\x41\x5c\x00"#) == ssid)
        #expect(SSID.JSONMembers(ssid) == SSID.JSONMembers(ssid: nil, ssidHex: "ff415c00"))
        #expect(try SSID.JSONMembers(ssid: nil, ssidHex: "FF415C00").name == ssid)
    }

    @Test func whatIsNoFormOfAnSSIDIsRefused() throws {
        for text in ["", #"a\"#, #"a\y"#, #"\x1"#, #"\xzz"#, String(repeating: "a", count: 33)] {
            #expect(SSID(description: text) == nil)
        }
        #expect(try SSID.JSONMembers(ssid: nil, ssidHex: nil).name == nil)
        #expect(throws: SSID.InvalidJSONMembers.both) { try SSID.JSONMembers(ssid: "a", ssidHex: "61").name }
        #expect(throws: SSID.InvalidJSONMembers.notHex) { try SSID.JSONMembers(ssid: nil, ssidHex: "6").name }
        #expect(throws: SSID.InvalidJSONMembers.invalid(InvalidSSID(length: 0))) {
            try SSID.JSONMembers(ssid: "", ssidHex: nil).name
        }
    }

    /// The output of hostap's printf_encode.
    @Test func readsWhatTheSupplicantPrints() {
        #expect(
            SSID.bytes(printedBySupplicant: #"a\"b\\c\e\n\r\t\x00\xff"#)
                == Array("a\"b\\c\u{1b}\n\r\t".utf8) + [0, 0xff])
    }

    @Test func readsBackWhateverItWrites() throws {
        var random = SeededRandom(seed: 4)
        for _ in 0..<5000 {
            let bytes = (0..<Int.random(in: 1...32, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let ssid = try SSID(bytes: bytes)
            #expect(SSID(description: ssid.description) == ssid)
            #expect(try SSID.JSONMembers(ssid).name == ssid)
            #expect(try OutsideJSON.decode(SSID.self, from: OutsideJSON.encode(ssid), nesting: 1) == ssid)
            #expect(Hex.bytes(ssid.hex) == bytes)
        }
    }
}

@Suite struct ValueTests {
    @Test func bssidReadsWhatItPrints() throws {
        let bssid = try #require(BSSID("02:00:0a:FF:01:00"))
        #expect(bssid.bytes == [0x02, 0x00, 0x0a, 0xff, 0x01, 0x00])
        #expect(bssid.description == "02:00:0a:ff:01:00")
        #expect(BSSID(bssid.description) == bssid)
    }

    @Test(arguments: [
        "", "02:00:00:00:01", "02:00:00:00:01:0", "02:00:00:00:01:0g", "0200:00:00:01:00:", "1:1:1:1:1:1",
    ])
    func bssidRefuses(text: String) {
        #expect(BSSID(text) == nil)
    }

    /// Six bytes each, as the key file has them; what is left over is no address.
    @Test func bssidsInARow() throws {
        let bytes = (0..<14).map { UInt8($0) }
        #expect(BSSID.list(bytes).map(\.bytes) == [Array(bytes[0..<6]), Array(bytes[6..<12])])
        #expect(BSSID.list(bytes[2..<8]).map(\.description) == ["02:03:04:05:06:07"])
        #expect(BSSID.list(bytes.prefix(5)).isEmpty)
    }

    @Test(arguments: [
        (2412, 1, Band.twoPointFour), (2472, 13, .twoPointFour), (2484, 14, .twoPointFour), (5180, 36, .five),
        (5885, 177, .five), (5955, 1, .six), (7115, 233, .six),
    ])
    func frequencyKnowsItsChannel(megahertz: Int, channel: Int, band: Band) {
        let frequency = Frequency(megahertz: megahertz)
        #expect(frequency.channel == channel)
        #expect(frequency.band == band)
    }

    @Test(arguments: [0, 2413, 5000, 9000, -1])
    func frequencyOutsideTheBandsHasNoChannel(megahertz: Int) {
        #expect(Frequency(megahertz: megahertz).channel == nil)
    }

    @Test func instantsCountMilliseconds() {
        let start = Instant(milliseconds: 1000)
        #expect(start + .seconds(2) == Instant(milliseconds: 3000))
        #expect(start + .seconds(2) - start == .seconds(2))
        #expect(start < start + .milliseconds(1))
    }
}

@Suite struct TextTests {
    @Test(arguments: [
        ("b=mqtts://user:hunter2@host:1", "b=mqtts://...@host:1"), ("a=h:1,b=mqtts://u:p@x", "a=h:1,b=mqtts://...@x"),
        ("host:1", "host:1"), ("user@host", "user@host"), ("https://host/a:b", "https://host/a:b"),
        ("u@h, b=mqtts://host", "u@h, b=mqtts://host"), ("mqtts://u:a,b c/d@e@host:1", "mqtts://...@host:1"),
    ])
    func aURLShowsNoCredentials(text: String, shown: String) {
        #expect(text.withoutCredentials == shown)
    }
}
