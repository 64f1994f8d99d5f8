import Randomness
import Testing

@testable import HotspotProviders

@Suite struct PortalPageTests {
    private func page(_ html: String) -> PortalPage { PortalPage(html: Array(html.utf8)) }

    @Test func readsForms() throws {
        let page = page(
            """
            <FORM ACTION='/a?x=1&amp;y=2' METHOD=POST><input type=hidden name=h value="1>2"><input type="checkbox" name=c checked>
            <input name=r type=radio value=1><input name=r type=radio value=2 checked><input type=submit name=s value='&#79;K'>
            <button type=button name=no>x</button><input type=submit name=t value=No></form>
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

    @Test func anyBytes() {
        var random = SeededRandom(seed: 5)
        let pieces = [
            "<form", " action=", "'", "\"", ">", "<input type=", "checkbox", " name=x", "</form>", "<!--", "-->",
            "<script>",
            "</script", "&#x110000;", "&amp", "&#", ";", "<a href=", "<", "/", "=",
            "<meta http-equiv=refresh content='0;url=",
            "\u{0}", "ä",
        ]
        for _ in 0..<5000 {
            let html = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                pieces.randomElement(using: &random) ?? ""
            }
            let page = page(html.joined())
            _ = page.step
            #expect(page.forms.allSatisfy { $0.values().count <= $0.fields.count })
        }
    }
}
