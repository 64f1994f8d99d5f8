/// Values from JSON text in UTF-8.
///
/// Errors are those of the toolchain's Foundation: what is no JSON, and a number that its type cannot hold, is
/// `dataCorrupted` without a path.
public final class JSONDecoder {
    public init() {}

    public func decode<Value: Decodable>(_ type: Value.Type, from text: Data) throws -> Value {
        let value: JSONValue
        do {
            value = try JSONReader.read(text)
        } catch let failure as JSONReader.Failure {
            throw DecodingError.notJSON(underlying: failure)
        }
        return try Value(from: JSONValueDecoder(value: value, codingPath: []))
    }
}

extension DecodingError {
    static func notJSON(underlying error: (any Error)? = nil) -> DecodingError {
        .dataCorrupted(
            Context(codingPath: [], debugDescription: "The given data was not valid JSON.", underlyingError: error))
    }
}

/// One value, and where it was.
struct JSONValueDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw isNot([String: Any].self) }
        return KeyedDecodingContainer(JSONMembers<Key>(members: members, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value else { throw isNot([Any].self) }
        return JSONElements(elements: elements, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    /// It is null, or something else than it should be.
    private func isNot(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath, debugDescription: "Expected \(type) but found \(value.kind).")
        return if case .null = value { .valueNotFound(type, context) } else { .typeMismatch(type, context) }
    }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { if case .null = value { true } else { false } }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let bool) = value else {
            // Null too is of the wrong type here, for whatever reason.
            throw DecodingError.typeMismatch(
                type,
                DecodingError.Context(
                    codingPath: codingPath, debugDescription: "Expected \(type) but found \(value.kind)."))
        }
        return bool
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let string) = value else { throw isNot(type) }
        return string
    }

    func decode(_ type: Double.Type) throws -> Double { try number { Double(json: $0) } }
    func decode(_ type: Float.Type) throws -> Float { try number { Float(json: $0) } }
    func decode(_ type: Int.Type) throws -> Int { try number { Int(json: $0) } }
    func decode(_ type: Int8.Type) throws -> Int8 { try number { Int8(json: $0) } }
    func decode(_ type: Int16.Type) throws -> Int16 { try number { Int16(json: $0) } }
    func decode(_ type: Int32.Type) throws -> Int32 { try number { Int32(json: $0) } }
    func decode(_ type: Int64.Type) throws -> Int64 { try number { Int64(json: $0) } }
    func decode(_ type: UInt.Type) throws -> UInt { try number { UInt(json: $0) } }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try number { UInt8(json: $0) } }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try number { UInt16(json: $0) } }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try number { UInt32(json: $0) } }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try number { UInt64(json: $0) } }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

    private func number<Number>(_ read: (String) -> Number?) throws -> Number {
        guard case .number(let text) = value else { throw isNot(Number.self) }
        guard let number = read(text) else { throw DecodingError.notJSON() }
        return number
    }
}
