import AgentModel
import Testing

@Suite struct DeviceNameTests {
    // covers: seed/device-name
    @Test(arguments: [
        "a", "Kitchen lamp", "Küche 💡", "厨房灯", "रसोई की बत्ती", "مصباح المطبخ", "👩‍👩‍👧‍👦", "\\\"'<&>{{ x }}",
        String(repeating: "é", count: 64), String(repeating: "💡", count: 64),
    ])
    func namesInAnyLanguageAreKept(text: String) throws {
        let name = try DeviceName(text)
        #expect(name.text.utf8.elementsEqual(text.utf8))
        #expect(name.description == text)
    }

    @Test func whiteSpaceAtTheEndsIsRemoved() throws {
        #expect(try DeviceName(" \t\u{3000}a b\n").text == "a b")
    }

    @Test(arguments: ["", " ", "\u{3000}\t", "\u{200b}", "\u{200d}\u{fe0f}", "\u{3164}", "\u{feff}"])
    func aNameNeedsAVisibleCharacter(text: String) {
        #expect(throws: InvalidDeviceName.empty) { try DeviceName(text) }
    }

    @Test(arguments: [
        String(repeating: "a", count: 65), String(repeating: "💡", count: 64) + "a",
        String(repeating: "💡", count: 10_000), String(repeating: " ", count: 10_000) + "a",
        // One character of hundreds of scalars.
        "👨" + String(repeating: "\u{200d}👨", count: 300), "a" + String(repeating: "\u{301}", count: 128),
    ])
    func aLongNameIsRefused(text: String) {
        #expect(throws: InvalidDeviceName.tooLong) { try DeviceName(text) }
    }

    @Test(arguments: [
        "a\nb", "a\u{0}b", "a\u{1b}[2Jb", "a\u{7f}b", "a\u{85}b", "a\u{2028}b", "a\u{2029}b", "a\u{202a}b",
        "a\u{202e}b", "a\u{2066}b", "a\u{2069}b",
    ])
    func anUnsafeNameIsRefused(text: String) {
        #expect(throws: InvalidDeviceName.unsafe) { try DeviceName(text) }
    }

    @Test func aPrefixHasWholeCharacters() throws {
        let name = try DeviceName("a👩‍👩‍👧‍👦b")
        #expect(name.prefix(ofBytes: 27) == "a👩‍👩‍👧‍👦b")
        #expect(name.prefix(ofBytes: 26) == "a👩‍👩‍👧‍👦")
        #expect(name.prefix(ofBytes: 25) == "a")
        #expect(name.prefix(ofBytes: 0) == "")
    }
}
