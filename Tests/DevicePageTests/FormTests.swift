import AgentModel
import Testing

@testable import DevicePage

@Suite struct FormTests {
    private func form(_ text: String) -> Form? { Form(reading: Secret(text: text)) }

    @Test func fieldsAreReadAsBrowsersWriteThem() throws {
        let form = try #require(self.form("a=1+2&b=%26%3D%C3%A9&c=&d&e=x%00%FF"))
        #expect(form.text("a") == "1 2" && form.text("b") == "&=é" && form.text("c") == "" && form.text("d") == "")
        #expect(form.text("e") == nil && form.secret("e") == Secret([0x78, 0, 0xff]))
        #expect(form.text("f") == nil && self.form("")?.text("a") == nil)
    }

    @Test(arguments: [
        "a=1&a=2", "a=%", "a=%4", "a=%zz", "%ff=1", "a=%+1", String(repeating: "x", count: 33) + "=1",
        (0...16).map { "a\($0)=" }.joined(separator: "&"), "&&",
    ])
    func whatNoFormOfTheDevicesSendsIsRefused(text: String) { #expect(form(text) == nil) }

    @Test func cookiesOfOthersDoNotMatter() {
        let cookies = Cookies("a=1;  lang=de; x; =y; lang=en; __Host-session=00ff")
        #expect(cookies["lang"] == "de" && cookies["__Host-session"] == "00ff" && cookies["x"] == nil)
        #expect(Cookies(nil)["a"] == nil)
    }
}
