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

    /// Whatever the bytes are, what is printed has no control characters and different SSIDs never look the same.
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
}
