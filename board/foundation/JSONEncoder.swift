/// Makes JSON of values.
public final class JSONEncoder {
    public var outputFormatting: OutputFormatting = []
    public var userInfo: [CodingUserInfoKey: Any] = [:]

    public init() {}

    public struct OutputFormatting: OptionSet, Sendable {
        public let rawValue: UInt

        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let prettyPrinted = OutputFormatting(rawValue: 1 << 0)
        public static let sortedKeys = OutputFormatting(rawValue: 1 << 1)
        public static let withoutEscapingSlashes = OutputFormatting(rawValue: 1 << 3)
    }

    /// - Throws: `EncodingError`, or what the value throws.
    public func encode(_ value: some Encodable) throws -> Data {
        let encoder = ValueEncoder(codingPath: [], userInfo: userInfo)
        try value.encode(to: encoder)
        guard let result = encoder.box.value else {
            throw EncodingError.invalidValue(
                value, .init(codingPath: [], debugDescription: "\(type(of: value)) did not encode any values."))
        }
        var text = Data()
        result.write(outputFormatting, to: &text)
        return text
    }
}

/// A value that is being put together, perhaps by several containers.
private final class Box {
    private enum Content {
        case nothing
        case value(JSONValue)
        case members([(key: String, box: Box)])
        case elements([Box])
    }
    private var content = Content.nothing

    var value: JSONValue? {
        switch content {
        case .nothing: nil
        case .value(let value): value
        // What began and got no value is an empty object.
        case .members(let members): .object(members.map { ($0.key, $0.box.value ?? .object([])) })
        case .elements(let boxes): .array(boxes.map { $0.value ?? .object([]) })
        }
    }

    var count: Int {
        if case .elements(let boxes) = content { return boxes.count }
        return 0
    }

    func put(_ value: JSONValue) { content = .value(value) }

    func beginObject() { if case .members = content { return } else { content = .members([]) } }

    func beginArray() { if case .elements = content { return } else { content = .elements([]) } }

    func member(_ key: String) -> Box {
        guard case .members(var members) = content else { return self }
        let box = Box()
        content = .nothing
        if let index = members.firstIndex(where: { $0.key == key }) { members[index].box = box } else {
            members.append((key, box))
        }
        content = .members(members)
        return box
    }

    func element() -> Box {
        guard case .elements(var boxes) = content else { return self }
        let box = Box()
        content = .nothing
        boxes.append(box)
        content = .elements(boxes)
        return box
    }
}

/// Where one value is put.
private struct ValueEncoder: Encoder, SingleValueEncodingContainer {
    var box = Box()
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any]

    func child(_ box: Box, _ key: any CodingKey) -> ValueEncoder {
        ValueEncoder(box: box, codingPath: codingPath + [key], userInfo: userInfo)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        box.beginObject()
        return KeyedEncodingContainer(MemberEncoder(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        box.beginArray()
        return ElementEncoder(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { box.put(.null) }
    func encode(_ value: Bool) { box.put(.bool(value)) }
    func encode(_ value: String) { box.put(.string(value)) }
    func encode(_ value: Double) throws { try encode(number: value) }
    func encode(_ value: Float) throws { try encode(number: value) }
    func encode(_ value: Int) { box.put(.number(String(value))) }
    func encode(_ value: Int8) { box.put(.number(String(value))) }
    func encode(_ value: Int16) { box.put(.number(String(value))) }
    func encode(_ value: Int32) { box.put(.number(String(value))) }
    func encode(_ value: Int64) { box.put(.number(String(value))) }
    func encode(_ value: UInt) { box.put(.number(String(value))) }
    func encode(_ value: UInt8) { box.put(.number(String(value))) }
    func encode(_ value: UInt16) { box.put(.number(String(value))) }
    func encode(_ value: UInt32) { box.put(.number(String(value))) }
    func encode(_ value: UInt64) { box.put(.number(String(value))) }

    func encode(_ value: some Encodable) throws { try value.encode(to: self) }

    private func encode<Value: BinaryFloatingPoint & CustomStringConvertible>(number value: Value) throws {
        guard value.isFinite else {
            throw EncodingError.invalidValue(
                value, .init(codingPath: codingPath, debugDescription: "Unable to encode \(value) directly in JSON."))
        }
        let text = value.description
        box.put(.number(text.hasSuffix(".0") ? String(text.dropLast(2)) : text))
    }
}

/// The members of an object.
private struct MemberEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    private func at(_ key: any CodingKey) -> ValueEncoder { encoder.child(encoder.box.member(key.stringValue), key) }

    func encodeNil(forKey key: Key) { at(key).encodeNil() }
    func encode(_ value: Bool, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: String, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: Int, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: Int8, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: Int16, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: Int32, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: Int64, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: UInt, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: UInt8, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: UInt16, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: UInt32, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: UInt64, forKey key: Key) { at(key).encode(value) }
    func encode(_ value: Double, forKey key: Key) throws { try at(key).encode(value) }
    func encode(_ value: Float, forKey key: Key) throws { try at(key).encode(value) }
    func encode(_ value: some Encodable, forKey key: Key) throws { try at(key).encode(value) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        at(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { at(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { at(JSONKey(name: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { at(key) }
}

/// The elements of an array.
private struct ElementEncoder: UnkeyedEncodingContainer {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.box.count }

    private func next() -> ValueEncoder {
        let key = JSONKey(index: count)
        return encoder.child(encoder.box.element(), key)
    }

    func encodeNil() { next().encodeNil() }
    func encode(_ value: Bool) { next().encode(value) }
    func encode(_ value: String) { next().encode(value) }
    func encode(_ value: Int) { next().encode(value) }
    func encode(_ value: Int8) { next().encode(value) }
    func encode(_ value: Int16) { next().encode(value) }
    func encode(_ value: Int32) { next().encode(value) }
    func encode(_ value: Int64) { next().encode(value) }
    func encode(_ value: UInt) { next().encode(value) }
    func encode(_ value: UInt8) { next().encode(value) }
    func encode(_ value: UInt16) { next().encode(value) }
    func encode(_ value: UInt32) { next().encode(value) }
    func encode(_ value: UInt64) { next().encode(value) }
    func encode(_ value: Double) throws { try next().encode(value) }
    func encode(_ value: Float) throws { try next().encode(value) }
    func encode(_ value: some Encodable) throws { try next().encode(value) }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        next().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    func superEncoder() -> any Encoder { next() }
}
