import FoundationComparison
import Randomness
import Testing

/// The small Foundation reads JSON as the toolchain's does, and refuses what is none.
@Suite struct JSONReadingTests {
    @Test(arguments: [
        "null", " true ", "[]", "{}", "[ ]", "{ }", "\"\"", "-0", "-0.0", "1E+2", "1.7976931348623157e308", "4.9e-324",
        #"{"a":{"b":[1,2.5,"x",null,false]}}"#, "\u{feff}[1]", #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#,
        "{\"\u{e9}\":1,\"e\u{301}\":2}", #""\"\\\/\b\f\n\r\t\u0000\u00e9\ud83d\ude00""#,
        "\"\u{7f}\u{80}\u{2028}\u{10ffff}\"",
        "9007199254740993", "18446744073709551615", "18446744073709551616", "-9223372036854775808", "0.0e-999",
        // None of these is JSON.
        "", " ", "nul", "truex", "[1 2]", "[1", "{", "{\"a\"}", "{\"a\" 1}", "{\"a\":}", "{a:1}", "{'a':1}", "[1]]",
        "1 2",
        "//\n1", "NaN", "Infinity", "-", "+1", ".5", "1.", "01", "1e", "1e+", "0x1", "\"", "\"\\\"", #""\x""#,
        #""\u12""#,
        #""\u00zz""#, "\"a\nb\"", "\"\u{1f}\"", #""\ud800""#, #""\udc00""#, #""\ud83dx""#, #""\ud83d\n""#,
        #""\ud83d\u0041""#,
        #"{"\q":1}"#, "1e400", "-1e400", "1e-400", "1e99999999999999999999", "[,1]", "[1,,2]", "{,}", "[", "]",
        "\u{feff}",
    ])
    func isReadAsTheToolchainReadsIt(_ text: String) {
        #expect(Comparison.difference(reading: Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        Array("[1,]".utf8), Array(#"{"a":1,}"#.utf8), Array(#"{"a":1,"a":01}"#.utf8), [0x22, 0xff, 0x22],
        [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc0, 0x80, 0x22], [0x5b, 0xff, 0x5d], [0xff, 0xfe, 0x31, 0x00],
        [0x31, 0],
        [0, 0x31], [0x22, 0, 0x22],
    ])
    func whatIsNotJSONIsRefused(_ text: [UInt8]) {
        #expect(Outcome.small(Document.self, text) == .failure("corrupted at "))
    }

    @Test(arguments: [1, 511, 512, 513, 100_000])
    func nestsSoDeepAndNoDeeper(_ depth: Int) {
        for brackets in [("[", "]"), (#"{"a":"#, "}")] {
            let text = Array(repeating: brackets.0, count: depth) + ["1"] + Array(repeating: brackets.1, count: depth)
            let isRefused = Outcome.small(Bool.self, Array(text.joined().utf8)) == .failure("corrupted at ")
            #expect(isRefused == (depth > 512))
        }
    }

    @Test(
        arguments: [
            ("1.0", 1, 1, 1), ("1e2", 100, 100, 100), ("-0", 0, 0, 0), ("-0.0", 0, 0, 0), ("120e-1", 12, 12, 12),
            ("1.50e1", 15, 15, 15), ("0e99999999999999999999", 0, 0, 0), ("-1", -1, -1, nil), ("-128", -128, -128, nil),
            ("-129", nil, -129, nil), ("127", 127, 127, 127), ("128", nil, 128, 128), ("1.5", nil, nil, nil),
            ("1.0000000000000001", nil, nil, nil),
            ("9007199254740993.0", nil, 9_007_199_254_740_993, 9_007_199_254_740_993),
            ("9223372036854775807.0", nil, .max, UInt64(Int64.max)), ("9223372036854775808", nil, nil, 1 << 63),
            ("-9223372036854775808", nil, .min, nil), ("-9223372036854775809", nil, nil, nil),
            ("18446744073709551615.0", nil, nil, .max), ("1.8446744073709551615e19", nil, nil, .max),
            ("1e20", nil, nil, nil),
            ("1e99999999999999999999", nil, nil, nil), ("-1e-99999999999999999999", nil, nil, nil),
        ] as [(String, Int8?, Int64?, UInt64?)])
    func integersAreExact(_ text: String, _ int8: Int8?, _ int64: Int64?, _ uint64: UInt64?) {
        let json = SmallData(text.utf8)
        #expect((try? SmallDecoder().decode(Int8.self, from: json)) == int8)
        #expect((try? SmallDecoder().decode(Int64.self, from: json)) == int64)
        #expect((try? SmallDecoder().decode(UInt64.self, from: json)) == uint64)
    }

    /// Random documents, and what is left of them after some bytes were changed.
    @Test func randomTextIsReadAsTheToolchainReadsIt() {
        var random = SeededRandom(seed: 7)
        for _ in 0..<1000 {
            let document = Document.random(depth: 4, using: &random)
            #expect(Comparison.difference(writing: document) == nil)
            guard var text = (try? SmallEncoder().encode(document)).map({ Array($0) }) else { continue }
            #expect(Comparison.difference(reading: text) == nil)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: text[index] = Array("\"\\,:[]{}0e-.u \n\u{1}".utf8).randomElement(using: &random) ?? 0x20
                case 1: text.remove(at: index)
                default: text.insert(text[text.count / 2], at: index)
                }
                if text.isEmpty { break }
            }
            guard String(validating: text, as: UTF8.self) != nil else { continue }
            #expect(Comparison.difference(reading: text) == nil)
        }
    }
}
