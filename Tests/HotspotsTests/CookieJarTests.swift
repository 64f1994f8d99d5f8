import Connectivity
import Testing

@testable import Hotspots

@Suite struct CookieJarTests {
    /// What a jar sends to an address after these were set by others.
    private func sent(to address: String, after cookies: [(setBy: String, text: String)]) throws -> String? {
        var jar = CookieJar()
        for cookie in cookies { jar.keep([cookie.text], from: try WebAddress(cookie.setBy)) }
        return jar.cookies(for: try WebAddress(address))
    }

    @Test func eachHostGetsItsOwn() throws {
        let cookies = [
            ("http://a.example/", "s=1; Path=/"), ("http://b.example/", "s=2"), ("http://a.example/x", "t=3"),
        ]
        #expect(try sent(to: "http://a.example/y", after: cookies) == "s=1; t=3")
        #expect(try sent(to: "http://b.example/", after: cookies) == "s=2")
        #expect(try sent(to: "http://sub.a.example/", after: cookies) == nil)
        #expect(try sent(to: "http://a.example/", after: cookies + [("http://a.example/", "s=4")]) == "t=3; s=4")
    }

    @Test func aSecureOneIsNotSentInTheClear() throws {
        for text in ["s=1; Secure", "s=1;secure", "s=1; Path=/; SECURE ; HttpOnly"] {
            let cookies = [("https://a.example/", text), ("https://a.example/", "t=2")]
            #expect(try sent(to: "https://a.example/", after: cookies) == "s=1; t=2")
            #expect(try sent(to: "http://a.example/", after: cookies) == "t=2")
            // Whoever is in between could have set it.
            #expect(try sent(to: "https://a.example/", after: [("http://a.example/", text)]) == nil)
        }
        #expect(try sent(to: "http://a.example/", after: [("https://a.example/", "secure=1")]) == "secure=1")
    }

    @Test(arguments: ["", "s", "=1", "s=a b", "s=ä", "s=1\r\nX: y", "s=" + String(repeating: "x", count: 511)])
    func whatIsNoneIsLeftOut(text: String) throws {
        #expect(try sent(to: "http://a.example/", after: [("http://a.example/", text)]) == nil)
    }

    @Test func onlySoManyAreKept() throws {
        let cookies = (0..<100).map { ("http://a.example/", "c\($0)=1") }
        let sent = try sent(to: "http://a.example/", after: cookies)
        #expect(sent == (84..<100).map { "c\($0)=1" }.joined(separator: "; "))
    }
}
