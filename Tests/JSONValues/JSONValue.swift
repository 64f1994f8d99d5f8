#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// JSON of any shape, read without the types of what it means: a device that leaves a member out, or adds a password,
/// shows here and not there.
package enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)
    case integer(Int)
    /// A number that is no `Int`.
    case number(Double)
    case text(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// - Returns: nil for what is not JSON.
    package init?(line: [UInt8]) {
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(line)) else { return nil }
        self = value
    }

    /// A message's part as it is on the line.
    package init(encoding value: some Encodable) throws {
        self = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value))
    }

    /// One line without its line feed, keys sorted.
    package var line: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Every number in it came from a literal or from JSON, so there is none that JSON cannot say.
        return (try? encoder.encode(self)).map(Array.init) ?? []
    }

    package var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
    package var array: [JSONValue]? { if case .array(let entries) = self { entries } else { nil } }
    package var text: String? { if case .text(let text) = self { text } else { nil } }
    package var integer: Int? { if case .integer(let integer) = self { integer } else { nil } }

    /// A member of an object; nil where there is none, or it is null, which means the same.
    package subscript(name: String) -> JSONValue? {
        guard let value = object?[name], value != .null else { return nil }
        return value
    }

    /// The object with these members besides its own, or in their place.
    package func with(_ members: [String: JSONValue]) -> JSONValue {
        .object((object ?? [:]).merging(members) { _, new in new })
    }
}

extension JSONValue: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? container.decode(Int.self) {
            self = .integer(integer)
        } else if let number = try? container.decode(Double.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let array = try? container.decode([JSONValue].self) {
            self = .array(array)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .array(let array): try container.encode(array)
        case .object(let object): try container.encode(object)
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(nilLiteral: ()) { self = .null }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
