/// A run of netlink attributes (netlink.h, `struct nlattr`), read in place.
///
/// Nothing in it is trusted: an attribute that claims more than there is ends the run, and a value that is too short for
/// what it is read as is nil.
struct Attributes: Sequence {
    private let bytes: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    /// The first attribute of a type. The kernel sends each once.
    subscript(type: some RawRepresentable<UInt32>) -> AttributeValue? { self[Int(type.rawValue)] }

    subscript(type: Int) -> AttributeValue? { first { $0.type == type }?.value }

    func makeIterator() -> Iterator { Iterator(reader: ByteReader(bytes)) }

    struct Iterator: IteratorProtocol {
        fileprivate var reader: ByteReader

        mutating func next() -> (type: Int, value: AttributeValue)? {
            guard let length = reader.take(UInt16.self), let type = reader.take(UInt16.self),
                let payload = reader.take(Int(length) - Attributes.headerLength)
            else { return nil }
            reader.skipPadding(after: payload.count)
            return (Int(type & Attributes.typeMask), AttributeValue(bytes: payload))
        }
    }

    static let headerLength = 4
    /// The type without the flags "nested" and "network byte order" (`NLA_TYPE_MASK`).
    private static let typeMask: UInt16 = 0x3fff
}

/// The payload of one attribute.
struct AttributeValue {
    let bytes: ArraySlice<UInt8>

    func number<Number: FixedWidthInteger>(as _: Number.Type = Number.self) -> Number? {
        var reader = ByteReader(bytes)
        return reader.take(Number.self)
    }

    /// A number without a sign that fits an `Int` on every machine.
    func count<Number: FixedWidthInteger & UnsignedInteger>(as _: Number.Type) -> Int? {
        guard let number = number(as: Number.self) else { return nil }
        return Int(clamping: number)
    }

    /// Text up to the first zero byte, if it is valid UTF-8.
    var string: String? { String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self) }

    var nested: Attributes { Attributes(bytes) }
}
