/// Writes one value to its place.
struct JSONPlaceEncoder: Encoder {
    let place: JSONPlace
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        place.becomeObject()
        return KeyedEncodingContainer(JSONMemberEncoder(place: place, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        place.becomeArray()
        return JSONElementEncoder(place: place, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension JSONPlaceEncoder: SingleValueEncodingContainer {
    func encodeNil() { place.put(.null) }
    func encode(_ value: Bool) { place.put(.bool(value)) }
    func encode(_ value: String) { place.put(.string(value)) }
    func encode(_ value: Double) throws { try put(value) }
    func encode(_ value: Float) throws { try put(value) }
    func encode(_ value: Int) { put(value) }
    func encode(_ value: Int8) { put(value) }
    func encode(_ value: Int16) { put(value) }
    func encode(_ value: Int32) { put(value) }
    func encode(_ value: Int64) { put(value) }
    func encode(_ value: UInt) { put(value) }
    func encode(_ value: UInt8) { put(value) }
    func encode(_ value: UInt16) { put(value) }
    func encode(_ value: UInt32) { put(value) }
    func encode(_ value: UInt64) { put(value) }
    func encode(_ value: some Encodable) throws { try value.encode(to: self) }

    private func put(_ integer: some FixedWidthInteger) { place.put(.number(String(integer))) }

    /// With the fewest digits that stand for this very number.
    private func put(_ number: some BinaryFloatingPoint & LosslessStringConvertible) throws {
        guard number.isFinite else {
            throw EncodingError.invalidValue(
                number,
                EncodingError.Context(
                    codingPath: codingPath, debugDescription: "Unable to encode \(number) directly in JSON."))
        }
        let text = number.description
        place.put(.number(text.hasSuffix(".0") ? String(text.dropLast(2)) : text))
    }
}

/// Writes the members of an object.
struct JSONMemberEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: JSONPlace
    let codingPath: [any CodingKey]

    func encodeNil(forKey key: Key) { encoder(key, isNew: true).encodeNil() }

    func encode(_ value: some Encodable, forKey key: Key) throws { try value.encode(to: encoder(key, isNew: true)) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> { encoder(key).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder(key).unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder(JSONKey.super) }

    func superEncoder(forKey key: Key) -> any Encoder { encoder(key) }

    private func encoder(_ key: any CodingKey, isNew: Bool = false) -> JSONPlaceEncoder {
        JSONPlaceEncoder(place: place.member(key.stringValue, isNew: isNew), codingPath: codingPath + [key])
    }
}

/// Writes the elements of an array.
struct JSONElementEncoder: UnkeyedEncodingContainer {
    let place: JSONPlace
    let codingPath: [any CodingKey]

    var count: Int { place.elementCount }

    func encodeNil() { encoder.encodeNil() }

    func encode(_ value: some Encodable) throws { try value.encode(to: encoder) }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        encoder.container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder }

    /// For the next element.
    private var encoder: JSONPlaceEncoder {
        JSONPlaceEncoder(
            place: place.appendElement(), codingPath: codingPath + [JSONKey(intValue: place.elementCount - 1)])
    }
}
