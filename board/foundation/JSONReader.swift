/// Reads one JSON document (RFC 8259) that is UTF-8.
struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0

    /// Values in values: as deep as Foundation goes.
    private static let depth = 512

    /// What is no JSON, and where.
    struct Failure: Error {
        let reason: String
        let position: Int
    }

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    static func read(_ data: Data) throws(Failure) -> JSONValue {
        let bytes = Array(data)
        guard String(validating: bytes, as: UTF8.self) != nil else { throw Failure(reason: "is not UTF-8", position: 0) }
        var reader = JSONReader(bytes)
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == bytes.count else { throw reader.failure("text follows after the value") }
        return value
    }

    private func failure(_ reason: String) -> Failure { Failure(reason: reason, position: position) }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpace() {
        while let byte = next, [0x20, 0x09, 0x0a, 0x0d].contains(byte) { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) throws(Failure) -> JSONValue {
        guard depth <= Self.depth else { throw failure("it nests too deep") }
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw failure("it ends early")
        default: return .number(try number())
        }
    }

    private mutating func word(_ word: String, _ value: JSONValue) throws(Failure) -> JSONValue {
        guard bytes[position...].starts(with: word.utf8) else { throw failure("a value is missing") }
        position += word.utf8.count
        return value
    }

    private mutating func object(depth: Int) throws(Failure) -> [(key: String, value: JSONValue)] {
        position += 1
        var members: [(key: String, value: JSONValue)] = []
        skipSpace()
        if take("}") { return members }
        repeat {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw failure("a key is missing") }
            let key = try string()
            skipSpace()
            guard take(":") else { throw failure("a colon is missing") }
            members.append((key, try value(depth: depth + 1)))
            skipSpace()
        } while take(",")
        guard take("}") else { throw failure("an object does not end") }
        return members
    }

    private mutating func array(depth: Int) throws(Failure) -> [JSONValue] {
        position += 1
        var values: [JSONValue] = []
        skipSpace()
        if take("]") { return values }
        repeat {
            values.append(try value(depth: depth + 1))
            skipSpace()
        } while take(",")
        guard take("]") else { throw failure("an array does not end") }
        return values
    }

    /// `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`
    private mutating func number() throws(Failure) -> String {
        let start = position
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try digits()
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func digits() throws(Failure) {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw failure("a digit is missing") }
    }

    private mutating func string() throws(Failure) -> String {
        position += 1
        var text: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): try escape(into: &text)
            case 0..<0x20: throw failure("a control character is not escaped")
            default: text.append(byte)
            }
        }
        throw failure("a string does not end")
    }

    private mutating func escape(into text: inout [UInt8]) throws(Failure) {
        guard let byte = next else { throw failure("a string does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "n"): text.append(0x0a)
        case UInt8(ascii: "f"): text.append(0x0c)
        case UInt8(ascii: "r"): text.append(0x0d)
        case UInt8(ascii: "u"): text.append(contentsOf: String(Character(try codePoint())).utf8)
        default: throw failure("an escape is unknown")
        }
    }

    /// One code unit of UTF-16, or two that belong together.
    private mutating func codePoint() throws(Failure) -> Unicode.Scalar {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(UInt32(first)) { return scalar }
        guard UTF16.isLeadSurrogate(first), take("\\"), take("u") else { throw failure("half a character is missing") }
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second) else { throw failure("half a character is missing") }
        let value = 0x10000 + (UInt32(first) & 0x3ff) << 10 + UInt32(second) & 0x3ff
        guard let scalar = Unicode.Scalar(value) else { throw failure("there is no such character") }
        return scalar
    }

    private mutating func codeUnit() throws(Failure) -> UInt16 {
        guard bytes.count - position >= 4,
            bytes[position..<position + 4].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt16(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16)
        else { throw failure("an escape has four hexadecimal digits") }
        position += 4
        return unit
    }
}
