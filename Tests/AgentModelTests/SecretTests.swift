import AgentModel
import Testing

@Suite struct SecretTests {
    @Test func neverShowsItself() {
        let secret = Secret(text: "hunter22")
        var dumped = ""
        dump(["password": secret], to: &dumped)
        for shown in ["\(secret)", String(reflecting: secret), String(describing: Optional(secret)), dumped] {
            #expect(shown.contains("<redacted>") || shown.contains("Secret"))
            #expect(!shown.contains("hunter22"))
            #expect(!shown.contains("104"))
        }
    }

    @Test func comparesByValue() {
        #expect(Secret(text: "abc") == Secret([0x61, 0x62, 0x63]))
        #expect(Secret(text: "abc") != Secret(text: "abd"))
        #expect(Secret(text: "abc") != Secret(text: "ab"))
        #expect(Secret(text: "abc").withBytes { Array($0) } == Array("abc".utf8))
    }

    @Test func wipesMemory() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 1)
        defer { buffer.deallocate() }
        buffer.copyBytes(from: repeatElement(0xaa, count: 16))
        wipe(buffer)
        #expect(buffer.allSatisfy { $0 == 0 })
    }

    @Test(arguments: [
        ("1234567", InvalidPassphrase.length(7)), ("", .length(0)), ("12345678é", .notPrintableASCII),
        ("1234567\n", .notPrintableASCII), (String(repeating: "a", count: 64), .length(64)),
    ])
    func impossiblePassphrasesAreRefused(text: String, error: InvalidPassphrase) {
        #expect(throws: error) { try Passphrase.validate(Secret(text: text)) }
    }

    @Test func possiblePassphrasesAreAccepted() throws {
        try Passphrase.validate(Secret(text: "12345678"))
        try Passphrase.validate(Secret(text: String(repeating: "~", count: 63)))
    }
}
