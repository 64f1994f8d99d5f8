import Foundation
import Randomness
import Testing

@testable import AgentModel

/// Of JSON from outside only JSON is taken, numbers are exact, and nothing ends the program.
@Suite struct OutsideJSONTests {
    private struct Member<Value: Decodable>: Decodable { let a: Value }

    private func decode<Value: Decodable>(_ type: Value.Type, _ value: String) throws -> Value {
        try OutsideJSON.decode(Member<Value>.self, from: Array(#"{"a":\#(value)}"#.utf8), nesting: 32).a
    }

    /// Exponents that crash the small Foundation, and their neighbours.
    static let exponents: [String] = {
        let mantissas = ["10", "0", "-0.0", "1", "1.5", "-1", "100000000000000000000", "0.00000000000000000001"]
        let exponents = [
            "807", "400", "-400", "308", "309", "-324", "2147483647", "2147483648", "4294967296",
            "9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775807",
            "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
            "99999999999999999999999999999999999999", "+9223372036854775807", "0", "-0", "000000000000000000001",
        ]
        return mantissas.flatMap { mantissa in exponents.flatMap { ["\(mantissa)e\($0)", "\(mantissa)E\($0)"] } }
    }()

    /// One below, at and above the ends of every integer, in every way to write them.
    static let edges: [String] = {
        let edges = [
            "127", "128", "129", "255", "256", "32767", "32768", "32769", "65535", "65536", "2147483647", "2147483648",
            "2147483649", "4294967295", "4294967296", "9007199254740991", "9007199254740992", "9007199254740993",
            "9223372036854775806", "9223372036854775807", "9223372036854775808", "9223372036854775809",
            "18446744073709551614", "18446744073709551615", "18446744073709551616",
            "340282366920938463463374607431768211455",
        ]
        let signed: [String] = edges + edges.map { "-\($0)" }
        let ends = ["", ".0", "e0", ".0000000000000000000001", "0e-1"]
        return signed.flatMap { number in ends.map { number + $0 } }
    }()

    static let long: [String] = {
        let zeros = String(repeating: "0", count: 60_000)
        let nines = String(repeating: "9", count: 60_000)
        return [
            nines, "0.\(zeros)", "0.\(zeros)1", "1\(zeros)", "1\(zeros)e-60000", "1e\(nines)", "0e\(zeros)1",
            "1.\(zeros)1e60001",
        ]
    }()

    /// Each is a value that is right, or an error.
    @Test(arguments: [exponents, edges, long] as [[String]]) func noNumberEndsTheProgram(_ numbers: [String]) {
        for number in numbers {
            let exact = exact(number)
            #expect((try? decode(Int.self, number)) == exact, "\(number.prefix(80))")
            #expect((try? decode(Int64.self, number)) == exact.map(Int64.init))
            #expect((try? decode(Int8.self, number)) == exact.flatMap(Int8.init(exactly:)))
            #expect((try? decode(Int16.self, number)) == exact.flatMap(Int16.init(exactly:)))
            #expect((try? decode(Int32.self, number)) == exact.flatMap(Int32.init(exactly:)))
            #expect((try? decode(UInt8.self, number)) == exact.flatMap(UInt8.init(exactly:)))
            #expect((try? decode(UInt16.self, number)) == exact.flatMap(UInt16.init(exactly:)))
            #expect((try? decode(UInt32.self, number)) == exact.flatMap(UInt32.init(exactly:)))
            #expect((try? decode(UInt64.self, number)) == exact.flatMap(UInt64.init(exactly:)))
            #expect((try? decode(UInt.self, number)) == exact.flatMap(UInt.init(exactly:)))
            #expect((try? decode(String.self, number)) == nil)
            #expect((try? decode([Int].self, number)) == nil)
            #expect((try? decode(Bool.self, number)) == nil)
            // A member that is not asked for may hold it.
            #expect(throws: Never.self) { try decode(Nothing.self, number) }
        }
    }

    private struct Nothing: Decodable { init(from decoder: any Decoder) {} }

    /// Reckoned with digits alone, and slowly.
    private func exact(_ number: String) -> Int? {
        let parts = number.lowercased().split(separator: "e")
        let mantissa = parts[0].split(separator: ".")
        let fraction = mantissa.count > 1 ? String(mantissa[1]) : ""
        let sign = number.hasPrefix("-") ? "-" : ""
        let digits = mantissa[0].drop { $0 == "-" } + fraction
        guard digits.contains(where: { $0 != "0" }) else { return 0 }
        // One that is not an `Int` moves the point beyond all digits there are.
        let written = parts.count > 1 ? Int(parts[1]) ?? (parts[1].hasPrefix("-") ? -1_000_000 : 1_000_000) : 0
        guard written.magnitude <= 1_000_000 else { return nil }
        let point = digits.count - fraction.count + written
        guard point > 0, point <= digits.count + 40 else { return nil }
        let padded = digits + String(repeating: "0", count: max(0, point - digits.count))
        guard padded.dropFirst(point).allSatisfy({ $0 == "0" }) else { return nil }
        return Int(sign + padded.prefix(point))
    }

    @Test(
        arguments: [
            ("1", 1), ("-0", 0), ("-0.0", 0), ("1.0", 1), ("1e2", 100), ("120e-1", 12), ("1.50e1", 15),
            ("0e99999999999", 0),
            ("9007199254740993.0", 9_007_199_254_740_993), ("9223372036854775807.0", .max),
            ("-9223372036854775808", .min),
            ("1.0000000000000001", nil), ("0.9999999999999999999999", nil), ("1.5", nil), ("9223372036854775808", nil),
            ("-9223372036854775809", nil), ("1e19", nil), ("1e-1", nil), ("10e9223372036854775807", nil),
            ("1e400", nil),
        ] as [(String, Int?)]) func integersAreExact(_ number: String, _ expected: Int?)
    {
        #expect((try? decode(Int.self, number)) == expected)
    }

    /// Foundation's decoder says of such numbers that the whole text is no JSON.
    @Test(arguments: ["1.5", "1e400", "10e9223372036854775807", "9223372036854775808"])
    func aNumberThatIsNoneIsNamed(_ number: String) {
        #expect {
            try decode(Int.self, number)
        } throws: { error in
            guard case .typeMismatch(let type, let context)? = error as? DecodingError else { return false }
            return type == Int.self && context.codingPath.map(\.stringValue) == ["a"]
        }
    }

    static let refused = [
        "", " ", "nul", "truex", "[1 2]", "[1", "{", "{\"a\"}", "{\"a\" 1}", "{\"a\":}", "{a:1}", "{'a':1}", "[1]]",
        "1 2", "//\n1", "/* */1", "NaN", "Infinity", "-Infinity", "-", "+1", ".5", "1.", "01", "-01", "1e", "1e+",
        "0x1",
        "1.e1", "\"", "\"\\\"", #""\x""#, #""\u12""#, #""\u00zz""#, #""\u+123""#, "\"a\nb\"", "\"\u{1f}\"",
        #""\ud800""#,
        #""\udc00""#, #""\ud83dx""#, #""\ud83d\n""#, #""\ud83d\u0041""#, #""\ud83d\ud83d""#, #"{"\q":1}"#, "[,1]",
        "[1,,2]", "{,}", "[", "]", "[1,]", #"{"a":1,}"#, #"{"a":1,"a":01}"#, "\u{feff}", "\u{feff}[1]", "'a'", "[1}",
        "True", "\u{a0}1", "1\u{b}", #"{"a":1 "b":2}"#, #"{1:1}"#, #"{"a"::1}"#, "\u{2028}1",
    ]

    @Test(arguments: refused) func whatIsNotJSONIsRefused(_ text: String) {
        #expect(throws: JSONFault.notJSON) {
            try OutsideJSON.decode(Nothing.self, from: Array(text.utf8), nesting: 32)
        }
    }

    /// Input that Foundation's decoder takes or might take: UTF-16, UTF-32, bytes that are no UTF-8.
    @Test(
        arguments: [
            Array("{}".utf16).flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] },
            Array("{}".utf16).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xff)] }, [0xff, 0xfe, 0x7b, 0, 0x7d, 0],
            [0x31, 0, 0, 0], [0x22, 0xff, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc0, 0x80, 0x22],
            [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xe2, 0x82, 0x22], [0x22, 0, 0x22], [0x31, 0],
        ] as [[UInt8]]) func whatIsNotUTF8IsRefused(_ text: [UInt8])
    {
        #expect(throws: JSONFault.notUTF8) { try OutsideJSON.decode(Nothing.self, from: text, nesting: 32) }
    }

    @Test(arguments: [1, 31, 32, 33, 1000, 30_000]) func nestsSoDeepAndNoDeeper(_ depth: Int) {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            let text = String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
            let isRefused = (try? OutsideJSON.decode(Nothing.self, from: Array(text.utf8), nesting: 32)) == nil
            #expect(isRefused == (depth > 32))
        }
    }

    // MARK: Secrets

    private func read(_ text: String) throws -> (text: String, secrets: [String]) {
        let bytes = Array(text.utf8)
        let read = try bytes.withUnsafeBytes { bytes in
            try JSONReader.read(bytes, nesting: 32, ["password", "values"])
        }
        return (
            String(decoding: read.text, as: UTF8.self),
            read.secrets.map { $0.withBytes { String(decoding: $0, as: UTF8.self) } }
        )
    }

    @Test(arguments: [
        (#"{"password":"hunter22"}"#, #"{"password":"0"}"#, ["hunter22"]),
        (#"{ "p\u0061ssword" : "a\"b\\c\u00e9\ud83d\ude00" }"#, #"{"p\u0061ssword":"0"}"#, ["a\"b\\cé😀"]),
        (
            #"{"values":{"pin":"1234","room":"","n":7,"deep":["x",{"y":"z"}]},"s":"t"}"#,
            #"{"values":{"pin":"0","room":"1","n":7,"deep":["2",{"y":"3"}]},"s":"t"}"#, ["1234", "", "x", "z"]
        ),
        (
            #"[{"password":null},{"password":"0"},{"Password":"x"}]"#,
            #"[{"password":null},{"password":"0"},{"Password":"x"}]"#, ["0"]
        ),
    ]) func secretsAreTakenOut(_ text: String, _ expected: String, _ secrets: [String]) throws {
        let read = try read(text)
        #expect(read.text == expected)
        #expect(read.secrets == secrets)
    }

    @Test func secretsComeToTheirMembers() throws {
        struct Body: Decodable {
            let password: Secret
            let values: [String: Secret]
            let text: String
        }
        let body = try OutsideJSON.decode(
            Body.self, from: Array(#"{"values":{"pin":"12"},"password":"hunter22","text":"0"}"#.utf8), nesting: 32,
            secretMembers: ["password", "values"])
        #expect(body.password == Secret(text: "hunter22"))
        #expect(body.values == ["pin": Secret(text: "12")])
        #expect(body.text == "0")
    }

    /// A text that is not taken out cannot pass for the number of one.
    @Test func noNumberBeyondThoseTakenOut() {
        struct Body: Decodable { let other: Secret }
        for text in ["1", "-1", "x", "", "99999999999999999999"] {
            #expect(throws: DecodingError.self) {
                try OutsideJSON.decode(
                    Body.self, from: Array(#"{"password":"a","other":"\#(text)"}"#.utf8), nesting: 32,
                    secretMembers: ["password"])
            }
        }
    }

    // MARK: Beside Foundation

    /// Random documents with some bytes changed: each that is taken here is JSON to Foundation too, and says the same.
    @Test func whatIsTakenIsJSON() throws {
        var random = SeededRandom(seed: 7)
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"\\u00e9\"", "1", "-2.5e3 ", "true", "null", " ", "0", "\"",
        ]
        var taken = 0
        for _ in 0..<50_000 {
            var text = ""
            for _ in 0..<Int.random(in: 1...8, using: &random) { text += pieces.randomElement(using: &random) ?? "" }
            guard let read = try? read(text) else { continue }
            taken += 1
            let theirs = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
            let ours = try JSONSerialization.jsonObject(with: Data(read.text.utf8), options: .fragmentsAllowed)
            #expect(ours as? NSObject == theirs as? NSObject, "\(text)")
        }
        #expect(taken > 100)
    }
}
