import Connectivity
import Randomness
import Testing

@testable import Hotspots

@Suite struct PortalPageTests {
    private func page(_ html: String) -> PortalPage { PortalPage(html: Array(html.utf8)) }

    @Test func readsForms() throws {
        let page = page(
            """
            <FORM ACTION='/a?x=1&amp;y=2' METHOD=POST><input type=hidden name=h value="1>2"><input type="checkbox" name=c checked>
            <input name=r type=radio value=2 checked><input type=submit name=t value=No><input type=submit name=s value='&#79;K'>
            <button type=button name=no>x</button></form>
            """)
        let form = try #require(page.forms.first)
        #expect(form.action == "/a?x=1&y=2")
        #expect(form.isPost)
        #expect(form.values().map { "\($0.name)=\($0.value)" } == ["h=1>2", "c=on", "r=2", "s=OK"])
        #expect(page.step == .submit(form))
    }

    @Test func aSearchIsNoConsent() {
        let form = page("<form action=/q><input name=q></form><form action=/ok><input type=checkbox name=agree></form>")
        guard case .submit(let chosen) = form.step else {
            Issue.record("\(form.step)")
            return
        }
        #expect(chosen.action == "/ok")
    }

    @Test func aPasswordIsNeverMadeUp() {
        let login = page(
            "<a href=/free>free</a><form action=/in><input type=password name=p><input type=checkbox name=c></form>")
        guard case .ask(let form) = login.step else {
            Issue.record("\(login.step)")
            return
        }
        #expect(form.questions.map(\.kind) == [.password])
    }

    @Test(arguments: ["#accept", "javascript:accept()", "mailto:accept@example"])
    func linksThatLeadNowhereAreNotFollowed(target: String) {
        #expect(page("<a href='\(target)'>accept</a>").step == .none)
    }

    @Test func whatIsTooMuchIsLeftOut() {
        let field = "<input type=hidden name=a value=\(String(repeating: "x", count: 5000))>"
        let page = page(String(repeating: "<form action=/a>" + String(repeating: field, count: 70), count: 20))
        #expect(page.forms.count == 16)
        #expect(page.forms.allSatisfy { $0.fields.count == 64 && $0.fields.allSatisfy { $0.value.utf8.count == 2048 } })
        let links = self.page(String(repeating: "<a href=/x>y</a>", count: 1000))
        #expect(links.links.count == 128)
    }

    /// Ticked boxes: those that have to be, or name an agreement.
    @Test(arguments: [
        ("<input type=checkbox name=a>", ["a"]), ("<input type=checkbox name=a>My newsletter", []),
        ("<input type=checkbox name=a><input type=checkbox name=b>", []),
        ("<input type=checkbox name=a required><input type=checkbox name=b>", ["a"]),
        ("<input type=checkbox name=a> <b>I accept</b> the rules<input type=checkbox name=b checked>", ["a"]),
        ("<input type=checkbox name=acceptTerms><input type=checkbox name=marketingAccepted>", ["acceptTerms"]),
    ])
    func ticksWhatHasToBe(boxes: String, ticked: [String]) {
        let form = page("<form action=/accept>\(boxes)</form>").forms.first
        #expect(form?.values().map(\.name) == ticked)
    }

    /// A word counts as one, and not inside of another.
    @Test(arguments: [
        ("<form action=/x><button>Accept</button></form>", true),
        ("<form action=/x><button>Log in</button></form>", false),
        ("<form action=/freeze><button>x</button></form>", false),
        ("<form action=/x><button>Restart</button></form>", false),
        ("<form action=/free><button>x</button></form>", true),
        ("<form action=/x><button>btnConnect</button></form>", true),
        ("<form action=/disconnect><button>Continue</button></form>", false),
        ("<form action=/lang><button name=de>Deutsch</button></form>", false),
        ("<form action=/accept><button>Buy 24 h</button></form>", false),
        ("<form action=/accept>Only 5 EUR<button>OK</button></form>", false),
        ("<form action=/accept><input type=radio name=r><input type=radio name=r></form>", false),
        ("<form action=/accept><select name=s></select></form>", false), ("<form action=/accept></form>", true),
    ])
    func onlyConsentIsSent(html: String, isSent: Bool) {
        let page = page(html)
        #expect((page.step == .submit(page.forms[0])) == isSent)
    }

    @Test(
        arguments: [
            ("0;url=/a", "/a"), (" 5; URL='/a'", "/a"), ("6;url=/a", nil), ("99999999999999999999;url=/a", nil),
            (";url=/a", nil),
            ("5", nil), ("5;/a", nil),
        ] as [(String, String?)])
    func onlyASoonPageIsTheNextOne(content: String, target: String?) {
        #expect(page("<meta http-equiv=refresh content=\"\(content)\">").refresh == target)
    }

    private func check(_ page: PortalPage) {
        #expect(page.forms.count <= PortalPage.forms && page.links.count <= PortalPage.links)
        for form in page.forms {
            #expect(form.fields.count <= PortalPage.fields)
            #expect(form.questions.allSatisfy { $0.label.utf8.count <= ProviderLimits.titleLength })
            // Nothing is sent that the form does not have, and of its buttons one.
            #expect(form.values().allSatisfy { value in form.fields.contains { $0.name == value.name } })
            let buttons = Set(form.fields.filter { $0.kind == .submit }.map(\.name))
            let others = Set(form.fields.filter { $0.kind != .submit }.map(\.name))
            #expect(form.values().count { buttons.subtracting(others).contains($0.name) } <= 1)
        }
        switch page.step {
        case .submit(let form):
            #expect(!form.fields.contains { $0.kind == .password || $0.kind == .text })
            #expect(!form.hasChoice && !form.isPriced)
        case .ask(let form): #expect(form.needsPerson && !form.hasChoice)
        case .follow(let target): #expect(!target.lowercased().hasPrefix("javascript:"))
        case .show, .none: break
        }
    }

    @Test func anyBytes() async {
        var random = SeededRandom(seed: 5)
        let pieces = [
            "<form", " action=", "'", "\"", ">", "<input type=", "checkbox", " name=x", "</form>", "<!--", "-->",
            "<script>",
            "</script", "&#x110000;", "&amp", "&#", ";", "<a href=", "<", "/", "=",
            "<meta http-equiv=refresh content='0;url=", "password", "radio", "<select>", "<button>", "accept",
            " required", "5 €",
            "\u{0}", "ä",
        ]
        for _ in 0..<5000 {
            let html = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }
            let page = page(html.joined())
            _ = page.step
            check(page)
            await Task.yield()
        }
    }
}

@Suite struct CookieJarTests {
    /// The cookies sent to an address after others set these.
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
            // A device in between could have set it.
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
