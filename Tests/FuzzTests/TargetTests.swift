import Randomness
import Testing

@testable import Fuzzing

/// A short version of libFuzzer's work: the properties of every target hold for its seeds, for the words of its
/// dictionary, and for a few hundred inputs made of both.
@Suite struct TargetTests {
    @Test(arguments: FuzzTarget.all.map(\.name)) func theSeedsAndWhatIsMadeOfThemKeepTheProperties(name: String) throws
    {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let check = target.prepare()
        let seeds = target.seeds()
        #expect(!seeds.isEmpty && seeds.allSatisfy { !$0.isEmpty && $0.count <= target.longest })
        check([])
        for seed in seeds { check(seed) }
        let words = FuzzDictionary.integers.words + FuzzDictionary(of: target).words
        // A life of a key file, or a handshake, takes as long as thousands of others.
        let isSlow = target.goal < 10_000_000
        for word in words where !isSlow { check(word) }
        var random = SeededRandom(seed: 19)
        for _ in 0..<(isSlow ? 24 : 400) { check(random.input(of: seeds, words, longest: target.longest)) }
    }
}

extension SeededRandom {
    /// One of the seeds, changed in a few places.
    fileprivate mutating func input(of seeds: [[UInt8]], _ words: [[UInt8]], longest: Int) -> [UInt8] {
        var input = seeds.randomElement(using: &self) ?? []
        for _ in 0..<Int.random(in: 1...4, using: &self) {
            let place = Int.random(in: 0...input.count, using: &self)
            let end = min(place + Int.random(in: 0...8, using: &self), input.count)
            switch Int.random(in: 0..<4, using: &self) {
            case 0: input.replaceSubrange(place..<end, with: words.randomElement(using: &self) ?? [])
            case 1: input.replaceSubrange(place..<end, with: [UInt8.random(in: 0...255, using: &self)])
            case 2: input.removeSubrange(place..<end)
            default: input.insert(contentsOf: input[place..<end], at: Int.random(in: 0...place, using: &self))
            }
        }
        return Array(input.prefix(longest))
    }
}

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
        let without: Set = [
            "information-elements", "netlink", "keyfile", "key-medium", "sealed-export", "tls-hello", "opening",
            "app-keys",
            "static-address", "dhcp-server",
        ]
        for target in FuzzTarget.all {
            #expect(FuzzDictionary(of: target).words.isEmpty == without.contains(target.name), "\(target.name)")
        }
    }
}
