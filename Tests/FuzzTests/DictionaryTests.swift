import Testing

@testable import Fuzzing

/// Without these words a fuzzer does not come upon a number that is one too large.
@Suite struct DictionaryTests {
    private let words = Set(FuzzDictionary.integers.words)

    @Test(arguments: [
        "127", "-128", "128", "255", "256", "65536", "2147483648", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "18446744073709551615", "18446744073709551616", "ffffffff", "1e308", "1e400",
        "10e9223372036854775807", "-0.0e9223372036854775807",
    ])
    func hasTheEdgesOfNumbers(text: String) { #expect(words.contains(Array(text.utf8))) }

    @Test func hasThemAsTheyAreInMemoryAndOnTheWire() {
        #expect(words.contains([0xff, 0xff, 0xff, 0x7f]) && words.contains([0x7f, 0xff, 0xff, 0xff]))
        #expect(words.contains([0, 0x80]) && words.contains([0x80, 0]))
        #expect(words.contains(Array(repeating: 0xff, count: 8)))
    }

    @Test func aDictionaryReadsAsItIsWritten() {
        let dictionary = FuzzDictionary(words: [Array("a\"b\\c".utf8), [0, 0x0d, 0xff], [0x20]])
        #expect(dictionary.text == "\"a\\\"b\\\\c\"\n\"\\x00\\x0d\\xff\"\n\" \"\n")
        #expect(
            FuzzDictionary(reading: dictionary.text.split(separator: "\n").map(String.init)).words == dictionary.words)
    }

    @Test func everyDictionaryIsOfATarget() {
        // Those without words of their own live on their seeds.
        let without: Set = ["information-elements", "netlink", "keyfile", "key-medium", "sealed-export", "tls-hello"]
        for target in FuzzTarget.all {
            #expect(FuzzDictionary(of: target).words.isEmpty == without.contains(target.name), "\(target.name)")
        }
    }
}
