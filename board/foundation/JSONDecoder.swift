/// Makes values of JSON.
public final class JSONDecoder {
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    public init() {}

    /// - Throws: `DecodingError`, or what the type throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        let value: JSONValue
        do { value = try JSONReader.read(data) } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "The given data was not valid JSON.", underlyingError: error))
        }
        return try ValueDecoder(value: value, codingPath: [], userInfo: userInfo).decode(type)
    }
}

/// One value, and where it is in the document.
private struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let value: JSONValue
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any]

    func child(_ value: JSONValue, _ key: any CodingKey) -> ValueDecoder {
        ValueDecoder(value: value, codingPath: codingPath + [key], userInfo: userInfo)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value else { throw mismatch([String: Any].self) }
        // Of members with one name, the first counts.
        let named = Dictionary(members.map { ($0.key, $0.value) }) { first, _ in first }
        return KeyedDecodingContainer(MemberDecoder(members: named, decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let values) = value else { throw mismatch([Any].self) }
        return ElementDecoder(values: values, decoder: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func mismatch(_ type: Any.Type) -> DecodingError {
        let context = DecodingError.Context(codingPath: codingPath, debugDescription: "Expected to decode \(type).")
        if case .null = value { return .valueNotFound(type, context) }
        return .typeMismatch(type, context)
    }

    func decodeNil() -> Bool {
        if case .null = value { return true }
        return false
    }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let bool) = value else { throw mismatch(type) }
        return bool
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .string(let string) = value else { throw mismatch(type) }
        return string
    }

    func decode(_ type: Double.Type) throws -> Double { try floatingPoint(type) }
    func decode(_ type: Float.Type) throws -> Float { try floatingPoint(type) }
    func decode(_ type: Int.Type) throws -> Int { try integer(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }

    private func floatingPoint<Value: BinaryFloatingPoint & LosslessStringConvertible>(_ type: Value.Type) throws -> Value {
        guard case .number(let text) = value else { throw mismatch(type) }
        guard let number = Value(text), number.isFinite else { throw unfit(text, type) }
        return number
    }

    /// Also reads `1e2` and `1.0`, which are the same as `100` and `1`.
    private func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        guard case .number(let text) = value else { throw mismatch(type) }
        guard let number = Value(text) ?? Double(text).flatMap({ Value(exactly: $0) }) else { throw unfit(text, type) }
        return number
    }

    private func unfit(_ text: String, _ type: Any.Type) -> DecodingError {
        .dataCorrupted(
            .init(codingPath: codingPath, debugDescription: "Parsed JSON number <\(text)> does not fit in \(type)."))
    }
}

/// The members of an object.
private struct MemberDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: JSONValue]
    let decoder: ValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }
    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func member(_ key: any CodingKey) throws -> ValueDecoder {
        guard let value = members[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key, .init(codingPath: codingPath, debugDescription: "No value associated with key \(key.stringValue)."))
        }
        return decoder.child(value, key)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(key).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try member(key).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(key).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try member(key).decode(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try member(key).decode(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try member(key).decode(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try member(key).decode(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try member(key).decode(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try member(key).decode(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try member(key).decode(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try member(key).decode(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try member(key).decode(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try member(key).decode(type) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try member(key).decode(type) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { decoder.child(members["super"] ?? .null, JSONKey(name: "super")) }
    func superDecoder(forKey key: Key) throws -> any Decoder { decoder.child(members[key.stringValue] ?? .null, key) }
}

/// The elements of an array, one after the other.
private struct ElementDecoder: UnkeyedDecodingContainer {
    let values: [JSONValue]
    let decoder: ValueDecoder
    var currentIndex = 0

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex == values.count }

    private mutating func element<Value>(_ read: (ValueDecoder) throws -> Value) throws -> Value {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                Value.self,
                .init(
                    codingPath: codingPath + [JSONKey(index: currentIndex)],
                    debugDescription: "Unkeyed container is at end."))
        }
        let value = try read(decoder.child(values[currentIndex], JSONKey(index: currentIndex)))
        currentIndex += 1
        return value
    }

    /// Null is passed over, anything else is left to be read.
    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, case .null = values[currentIndex] else {
            guard !isAtEnd else { return try element { $0.decodeNil() } }
            return false
        }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try element { try $0.decode(type) } }
    mutating func decode(_ type: String.Type) throws -> String { try element { try $0.decode(type) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try element { try $0.decode(type) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try element { try $0.decode(type) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try element { try $0.decode(type) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try element { try $0.decode(type) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try element { try $0.decode(type) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try element { try $0.decode(type) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try element { try $0.decode(type) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try element { try $0.decode(type) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try element { try $0.decode(type) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try element { try $0.decode(type) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try element { try $0.decode(type) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try element { try $0.decode(type) } }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try element { try $0.decode(type) } }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try element { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try element { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try element { $0 } }
}

/// A place in an array, or a name that no type has declared.
struct JSONKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(index: Int) {
        stringValue = "Index \(index)"
        intValue = index
    }

    init(name: String) {
        stringValue = name
        intValue = nil
    }

    init?(stringValue: String) { self.init(name: stringValue) }
    init?(intValue: Int) { self.init(index: intValue) }
}
