import FoundationComparison
import Randomness
import Testing

@Suite struct Base64Tests {
    @Test func whatIsWrittenIsReadAgain() {
        var random = SeededRandom(seed: 64)
        for count in 0..<200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            let text = SmallData(bytes).base64EncodedString()
            #expect(text == ToolchainData(bytes).base64EncodedString())
            #expect(SmallData(base64Encoded: text).map { Array($0) } == bytes)
        }
    }

    @Test(arguments: ["", "QQ==", "QR==", "QUI=", "QUJ=", "QUJD", "+/+/", "////"])
    func isReadAsTheToolchainReadsIt(_ text: String) {
        #expect(SmallData(base64Encoded: text) != nil)
        #expect(Comparison.difference(readingBase64: text) == nil)
    }

    @Test(arguments: [
        "QQ=", "QQ", "Q", "Q===", "====", "=", "==", "QUJD====", "QUI==", "QUJD=", "QQ==QQ==", "QQ=A", "=QQQ", "Q=Q=",
        "QU JD",
        "QUJD\n", "\nQUJD", "-_-_", "QQ\u{0}=", "QUJé", "😀", "QUJDR",
    ])
    func anythingElseIsRefused(_ text: String) { #expect(SmallData(base64Encoded: text) == nil) }
}
