import FoundationComparison
import Testing

/// Types of all kinds are read and written as the toolchain's Foundation does it, and its errors name the same places.
@Suite struct JSONTypesTests {
    struct Station: Codable, Equatable {
        var name: String
        var channel: UInt8?
        var signal: Double?
        var links: [Link]
        var notes: [String: Bool]?

        struct Link: Codable, Equatable {
            var rates: [Int8]
        }
    }

    @Test(arguments: [
        #"{"name":"a","links":[]}"#,
        #"{"name":"a","channel":6,"signal":-0.5,"links":[{"rates":[1,-2]}],"notes":{"x":true}}"#,
        #"{"name":"a","channel":null,"links":[],"more":{"b":[1]}}"#, "{}", "[]", "null", "1", #"{"links":[]}"#,
        #"{"name":null,"links":[]}"#, #"{"name":1,"links":[]}"#, #"{"name":"a","links":{}}"#,
        #"{"name":"a","links":null}"#,
        #"{"name":"a","links":[1]}"#, #"{"name":"a","links":[null]}"#, #"{"name":"a","links":[{}]}"#,
        #"{"name":"a","links":[{"rates":[1,300]}]}"#, #"{"name":"a","links":[{"rates":[1,null]}]}"#,
        #"{"name":"a","links":[{"rates":[1,"x"]}]}"#, #"{"name":"a","links":[{"rates":[1]},{"rates":[1.5]}]}"#,
        #"{"name":"a","links":[],"channel":256}"#, #"{"name":"a","links":[],"channel":"6"}"#,
        #"{"name":"a","links":[],"signal":1e400}"#, #"{"name":"a","links":[],"notes":{"x":1}}"#,
        #"{"name":"a","links":[],"notes":{"x":null}}"#, #"{"name":"a","links":[],"notes":[]}"#,
    ])
    func isReadWithTheSameErrors(_ text: String) {
        let json = Array(text.utf8)
        #expect(Outcome.small(Station.self, json) == .toolchain(Station.self, json))
    }

    /// Reads past the end, and what is not there.
    struct Greedy: Decodable, Equatable {
        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            var nested = try container.nestedUnkeyedContainer()
            while try nested.decodeNil() {}
            _ = try container.superDecoder().singleValueContainer().decode(Int.self)
            _ = try container.nestedContainer(keyedBy: Key.self).decodeNil(forKey: Key(stringValue: "a"))
        }
    }

    @Test(arguments: [
        "[]", "[1]", "[[null,1],2]", "[[1],null]", "[[1],2,{}]", "[[1],2,{\"a\":null}]", "[[null]]", "[[1],2,3]",
    ])
    func containersEndTheSame(_ text: String) {
        let json = Array(text.utf8)
        #expect(Outcome.small(Greedy.self, json) == .toolchain(Greedy.self, json))
    }

    struct Key: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Uses everything that an encoder has.
    struct Writer: Encodable {
        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Key.self)
            try members.encode(1, forKey: Key(stringValue: "twice"))
            try members.encode(2, forKey: Key(stringValue: "twice"))
            try members.encodeNil(forKey: Key(stringValue: "a10"))
            try members.encode(Nothing(), forKey: Key(stringValue: "a2"))
            var nested = members.nestedContainer(keyedBy: Key.self, forKey: Key(stringValue: "B"))
            try nested.encode(true, forKey: Key(stringValue: "first"))
            nested = members.nestedContainer(keyedBy: Key.self, forKey: Key(stringValue: "B"))
            try nested.encode("b", forKey: Key(stringValue: "second"))
            var elements = members.nestedUnkeyedContainer(forKey: Key(stringValue: "_"))
            try elements.encodeNil()
            try elements.encode(Float(0.1))
            var more = elements.nestedUnkeyedContainer()
            try more.encode(elements.count)
            var last = elements.nestedContainer(keyedBy: Key.self)
            try last.encode(UInt64.max, forKey: Key(stringValue: "é"))
            Nothing().encode(to: elements.superEncoder())
            try [1: 2].encode(to: members.superEncoder())
            try [Int.min].encode(to: members.superEncoder(forKey: Key(stringValue: "own")))
        }
    }

    struct Nothing: Encodable {
        func encode(to encoder: any Encoder) {}
    }

    @Test func isWrittenTheSame() throws {
        let small = SmallEncoder()
        let toolchain = ToolchainEncoder()
        small.outputFormatting = [.sortedKeys, .prettyPrinted]
        toolchain.outputFormatting = [.sortedKeys, .prettyPrinted]
        let text = String(decoding: try small.encode(Writer()), as: UTF8.self)
        #expect(text == String(decoding: try toolchain.encode(Writer()), as: UTF8.self))
    }

    @Test func whatCannotBeWrittenIsAnError() {
        #expect(throws: EncodingError.self) { try SmallEncoder().encode(Nothing()) }
        #expect(throws: EncodingError.self) { try SmallEncoder().encode([Double.nan]) }
        #expect(throws: EncodingError.self) { try SmallEncoder().encode(-Float.infinity) }
    }
}
