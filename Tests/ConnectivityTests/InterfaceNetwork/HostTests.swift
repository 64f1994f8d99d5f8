import AgentModel
import DNS
import Randomness
import Testing

@testable import Connectivity

@Suite struct HostTests {
    @Test(arguments: ["192.0.2.1", "2001:db8::1", "fe80::1%wlan0", "::ffff:192.0.2.1"])
    func addressesAreAddresses(text: String) throws {
        #expect(try Host(text) == .address(try #require(IPAddress(text))))
    }

    @Test(arguments: [
        "a", "mqtt.example.com", "mqtt.example.com.", "xn--bcher-kva.example", "a_b.example", "3com.example",
    ])
    func namesAreNames(text: String) throws {
        #expect(try Host(text) == .name(.test(text.hasSuffix(".") ? String(text.dropLast()) : text)))
    }

    @Test(arguments: [
        "", ".", "..", "a..b", ".a", "-a.example", "a-.example", "a b", "bücher.example", "10.1", "256.0.0.1", "1",
        "a.1", "[::1]", "::g", "a/b", "a:80", "a%lo", "a\0.example", "http://a", "a\n", "127.0.0.1%lo",
        String(repeating: "a", count: 64), String(repeating: "a.", count: 127) + "aa",
    ])
    func nonsenseIsRefused(text: String) {
        #expect(throws: NameFailure.invalid) { try Host(text) }
    }

    @Test func noiseIsReadOrRefused() {
        var random = SeededRandom(seed: 5)
        let letters = Array("aZ09-_.:%[] \u{e9}\0")
        for _ in 0..<20_000 {
            let text = String(
                (0..<Int.random(in: 0...12, using: &random)).compactMap { _ in letters.randomElement(using: &random) })
            guard case .name(let name) = try? Host(text) else { continue }
            // What is taken for a name is one that can be asked for as it is written.
            #expect(name.description == (text.hasSuffix(".") ? String(text.dropLast()) : text))
        }
    }
}
