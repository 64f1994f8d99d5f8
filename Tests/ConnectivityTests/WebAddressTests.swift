import Randomness
import Testing

@testable import Connectivity

@Suite struct WebAddressTests {
    @Test(
        arguments: [
            ("http://example.com", "example.com", 80, "/", "http://example.com/"),
            ("HTTPS://Example.COM:443/A?b", "example.com", 443, "/A?b", "https://example.com/A?b"),
            ("http://h:8080?q", "h", 8080, "/?q", "http://h:8080/?q"),
            ("http://h:/x", "h", 80, "/x", "http://h/x"),
            ("http://192.0.2.1:80/", "192.0.2.1", 80, "/", "http://192.0.2.1/"),
            ("https://[2001:DB8::1]:8443/x#/y?z", "2001:db8::1", 8443, "/x", "https://[2001:db8::1]:8443/x#/y?z"),
            ("http://a_b.local/%20?a@b", "a_b.local", 80, "/%20?a@b", "http://a_b.local/%20?a@b"),
        ])
    func isAddress(_ text: String, _ host: String, _ port: Int, _ target: String, _ written: String) throws {
        let address = try WebAddress(text)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.target == target)
        #expect(address.description == written)
        #expect(try WebAddress(written) == address)
    }

    @Test(
        arguments: [
            ("", InvalidWebAddress.scheme), ("example.com", .scheme), ("ftp://example.com", .scheme),
            ("http:/example.com", .scheme), ("javascript:alert(1)", .scheme), ("//example.com", .scheme),
            ("http://", .host), ("http:///path", .host), ("http://:80/", .host), ("http://-a/", .host),
            ("http://.a/", .host), ("http://a..b/", .host), ("http://a%2eb/", .host), ("http://a,b/", .host),
            ("http://[::1/", .host), ("http://[1.2.3.4]/", .host), ("http://[fe80::1%25eth0]/", .host),
            ("http://[::g]/", .host), ("http://" + String(repeating: "a", count: 254), .host),
            ("http://user@example.com/", .userInformation), ("http://a:b@c/", .userInformation),
            ("http://a:0/", .port), ("http://a:65536/", .port), ("http://a:+80/", .port), ("http://a:8 0/", .character),
            ("http://a:000080/", .port), ("http://a:80:80/", .port), ("http://[::1]80/", .port),
            ("http://a/\r\nHost: b", .character), ("http://a/\u{0}", .character), ("http://a/ ", .character),
            ("http://ä.example/", .character), ("http://a/<script>", .character), ("http://a\\b/", .character),
            ("http://a/" + String(repeating: "x", count: 2040), .tooLong),
        ])
    func isNoAddress(_ text: String, _ reason: InvalidWebAddress) {
        #expect(throws: reason) { try WebAddress(text) }
    }

    /// The examples of RFC 3986, 5.4, but for those whose path has a semicolon's meaning.
    @Test(
        arguments: [
            ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"),
            ("g?y", "/b/c/g?y"), ("g?y/../x", "/b/c/g?y/../x"), (";x", "/b/c/;x"), ("", "/b/c/d;p?q"),
            (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"), ("../..", "/"),
            ("../../g", "/g"), ("../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."),
            ("..g", "/b/c/..g"), ("./g/.", "/b/c/g/"), ("g/../h", "/b/c/h"),
        ])
    func references(_ reference: String, _ target: String) throws {
        let base = try WebAddress("http://a/b/c/d;p?q")
        #expect(try base.resolving(reference).description == "http://a" + target)
    }

    @Test func referencesToOtherHosts() throws {
        let base = try WebAddress("https://a:8443/b")
        #expect(try base.resolving("//g/h").description == "https://g/h")
        #expect(try base.resolving("http://g:1/h#i").description == "http://g:1/h#i")
        #expect(try base.resolving("#s").description == "https://a:8443/b#s")
    }

    @Test(arguments: ["javascript:alert(1)", "mailto:a@b", "http:g", "//user@h/", "\r\nX: y", "//", "http://a:0/"])
    func referencesToNowhere(_ reference: String) throws {
        #expect(throws: InvalidWebAddress.self) { try WebAddress.example.resolving(reference) }
    }

    @Test func referencesDoNotGrowBeyondTheLimit() throws {
        let base = try WebAddress("http://a/" + String(repeating: "x", count: 2000) + "/")
        #expect(throws: InvalidWebAddress.tooLong) { try base.resolving(String(repeating: "y", count: 100)) }
    }

    /// Every accepted address is the same once it is written, and cannot end a line of a request.
    @Test func addressesOfEveryKind() throws {
        var random = SeededRandom(seed: 7)
        let parts = [
            "http://", "https://", "a", "B.c", ":80", ":", "/", "?", "#", "@", "[::1]", "%", "..", "\r\n", "é",
        ]
        var accepted = 0
        for _ in 0..<20_000 {
            let count = Int.random(in: 1...7, using: &random)
            let text = (0..<count).map { _ in parts.randomElement(using: &random) ?? "" }.joined()
            if let resolved = try? WebAddress.example.resolving(text) {
                #expect(try WebAddress(resolved.description) == resolved)
                #expect(resolved.target.utf8.allSatisfy { (0x21...0x7e).contains($0) })
            }
            guard let address = try? WebAddress(text) else { continue }
            accepted += 1
            #expect(try WebAddress(address.description) == address)
        }
        #expect(accepted > 100)
    }
}

extension WebAddress {
    // swift-format-ignore: NeverUseForceTry
    fileprivate static let example = try! WebAddress("http://portal.example/a/b/c?d")
}
