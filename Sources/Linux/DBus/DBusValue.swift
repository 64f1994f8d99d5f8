/// A value of the D-Bus type system (D-Bus specification, "Type System"), without file descriptors.
public indirect enum DBusValue: Sendable, Hashable {
    case byte(UInt8)
    case boolean(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    /// Bit pattern of an IEEE 754 double.
    case double(UInt64)
    case string(String)
    case objectPath(String)
    case signature(String)
    case bytes([UInt8])
    /// An array of anything but bytes, with the signature of its elements.
    case array(of: String, [DBusValue])
    case structure([DBusValue])
    /// An element of a dictionary. A dictionary is an array of entries.
    case entry(DBusValue, DBusValue)
    case variant(DBusValue)
}

extension DBusValue {
    var signature: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .bytes: "ay"
        case .array(let element, _): "a" + element
        case .structure(let members): "(" + members.map(\.signature).joined() + ")"
        case .entry(let key, let value): "{" + key.signature + value.signature + "}"
        case .variant: "v"
        }
    }

    /// A dictionary of variants by name (`a{sv}`), the type of properties and options.
    public static func dictionary(_ members: [(String, DBusValue)]) -> DBusValue {
        .array(of: "{sv}", members.map { .entry(.string($0.0), .variant($0.1)) })
    }

    public static func strings(_ texts: [String]) -> DBusValue { .array(of: "s", texts.map(DBusValue.string)) }

    /// Text of a string or object path; nil for other types.
    public var text: String? {
        switch self {
        case .string(let text), .objectPath(let text): text
        default: nil
        }
    }

    public var flag: Bool? { if case .boolean(let flag) = self { flag } else { nil } }

    public var number: UInt64? {
        switch self {
        case .byte(let number): UInt64(number)
        case .uint16(let number): UInt64(number)
        case .uint32(let number): UInt64(number)
        case .uint64(let number): number
        default: nil
        }
    }

    /// The value inside all nested variants; other values stay unchanged.
    public var unwrapped: DBusValue { if case .variant(let value) = self { value.unwrapped } else { self } }

    /// Elements of a dictionary with text keys, without their variants. The last of two equal keys counts. Empty for
    /// other types.
    public var members: [String: DBusValue] {
        guard case .array(_, let elements) = self else { return [:] }
        var members: [String: DBusValue] = [:]
        for case .entry(let key, let value) in elements {
            if let name = key.text { members[name] = value.unwrapped }
        }
        return members
    }
}

/// Reasons why bytes are not a valid D-Bus message.
public enum DBusFault: Error, Sendable, Equatable {
    case truncated
    case badSignature
    case nestsTooDeep
    /// The text is not UTF-8, lacks the final zero byte or contains one, or a value is outside its type's range.
    case badValue
    case badHeader
    case tooLong
}

enum DBusSignature {
    static let longest = 255
    /// Maximum nesting. D-Bus limits arrays and structures to 32 each. This code limits their sum.
    static let deepest = 32

    /// - Returns: the length of the first complete type of a signature, in bytes.
    static func lengthOfFirstType(_ bytes: ArraySlice<UInt8>, depth: Int = 0) throws(DBusFault) -> Int {
        guard depth <= deepest else { throw .nestsTooDeep }
        guard let first = bytes.first else { throw .badSignature }
        switch first {
        case UInt8(ascii: "y"), UInt8(ascii: "b"), UInt8(ascii: "n"), UInt8(ascii: "q"), UInt8(ascii: "i"),
            UInt8(ascii: "u"), UInt8(ascii: "x"), UInt8(ascii: "t"), UInt8(ascii: "d"), UInt8(ascii: "s"),
            UInt8(ascii: "o"), UInt8(ascii: "g"), UInt8(ascii: "v"), UInt8(ascii: "h"):
            return 1
        case UInt8(ascii: "a"):
            let rest = bytes.dropFirst()
            guard rest.first == UInt8(ascii: "{") else { return 1 + (try lengthOfFirstType(rest, depth: depth + 1)) }
            let key = try lengthOfFirstType(rest.dropFirst(), depth: depth + 2)
            guard key == 1, rest.dropFirst().first != UInt8(ascii: "v") else { throw .badSignature }
            let value = try lengthOfFirstType(rest.dropFirst(2), depth: depth + 2)
            guard rest.dropFirst(2 + value).first == UInt8(ascii: "}") else { throw .badSignature }
            return 4 + value
        case UInt8(ascii: "("):
            var length = 1
            while bytes.dropFirst(length).first != UInt8(ascii: ")") {
                length += try lengthOfFirstType(bytes.dropFirst(length), depth: depth + 1)
            }
            guard length > 1 else { throw .badSignature }
            return length + 1
        default:
            throw .badSignature
        }
    }

    /// Alignment of a type in bytes.
    static func alignment(_ type: UInt8) -> Int {
        switch type {
        case UInt8(ascii: "y"), UInt8(ascii: "g"), UInt8(ascii: "v"): 1
        case UInt8(ascii: "n"), UInt8(ascii: "q"): 2
        case UInt8(ascii: "x"), UInt8(ascii: "t"), UInt8(ascii: "d"), UInt8(ascii: "("), UInt8(ascii: "{"): 8
        default: 4
        }
    }
}
