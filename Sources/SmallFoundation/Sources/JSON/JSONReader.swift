/// Reads JSON text (RFC 8259), and nothing that is only nearly so.
struct JSONReader {
    /// How deep arrays and objects may be in one another.
    static let maximumDepth = 512

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var depth = 0

    /// Where the text stopped being JSON.
    struct Failure: Error {
        let message: String
        let position: Int
    }

    /// - Parameter text: UTF-8, a byte order mark before it or not.
    static func read(_ text: Data) throws -> JSONValue {
        try text.withUnsafeBytes { bytes in
            try bytes.withMemoryRebound(to: UInt8.self) { bytes in
                var reader = JSONReader(bytes: bytes)
                return try reader.document()
            }
        }
    }

    private init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    private mutating func document() throws -> JSONValue {
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { position = 3 }
        let value = try value()
        guard position == bytes.count else { throw failure("there is more after the value") }
        return value
    }

    /// A value, and the white space around it.
    private mutating func value() throws -> JSONValue {
        skipSpace()
        defer { skipSpace() }
        guard let next else { throw failure("a value is missing") }
        switch next {
        case UInt8(ascii: "{"): return try nested { try .object($0.members()) }
        case UInt8(ascii: "["): return try nested { try .array($0.elements()) }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: throw failure("a value is missing")
        }
    }

    private mutating func nested(_ read: (inout JSONReader) throws -> JSONValue) throws -> JSONValue {
        guard depth < Self.maximumDepth else { throw failure("it nests too deep") }
        depth += 1
        defer { depth -= 1 }
        position += 1
        skipSpace()
        return try read(&self)
    }

    private mutating func elements() throws -> [JSONValue] {
        var elements: [JSONValue] = []
        if take("]") { return elements }
        repeat { elements.append(try value()) } while take(",")
        guard take("]") else { throw failure("an array does not end") }
        return elements
    }

    /// Where a name comes again, its first value counts.
    private mutating func members() throws -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        if take("}") { return members }
        repeat {
            skipSpace()
            let name = try string()
            skipSpace()
            guard take(":") else { throw failure("a colon is missing") }
            let value = try value()
            if members[name] == nil { members[name] = value }
        } while take(",")
        guard take("}") else { throw failure("an object does not end") }
        return members
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws -> JSONValue {
        guard word.withUTF8Buffer({ bytes[position...].starts(with: $0) }) else { throw failure("a value is missing") }
        position += word.utf8CodeUnitCount
        return value
    }

    private mutating func number() throws -> String {
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

    private mutating func digits() throws {
        let start = position
        while let next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { position += 1 }
        guard position > start else { throw failure("a digit is missing") }
    }

    private mutating func string() throws -> String {
        guard take("\"") else { throw failure("a string is missing") }
        var text: [UInt8] = []
        while true {
            let plain = bytes[position...].prefix { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
            text += plain
            position = plain.endIndex
            if take("\"") { break }
            guard take("\\") else { throw failure("a string does not end, or has a control character") }
            text += Character(try escaped()).utf8
        }
        guard let string = String(validating: text, as: UTF8.self) else { throw failure("a string is not UTF-8") }
        return string
    }

    private mutating func escaped() throws -> Unicode.Scalar {
        guard let escape = next else { throw failure("a string does not end") }
        position += 1
        switch escape {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let unit = try codeUnit()
            if let scalar = Unicode.Scalar(unit) { return scalar }
            guard UTF16.isLeadSurrogate(unit), take("\\"), take("u") else { throw failure("half a character") }
            let second = try codeUnit()
            guard UTF16.isTrailSurrogate(second) else { throw failure("half a character") }
            return UTF16.decode(UTF16.EncodedScalar([unit, second]))
        default: throw failure("an unknown escape")
        }
    }

    /// Four hexadecimal digits.
    private mutating func codeUnit() throws -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let next, let digit = Character(Unicode.Scalar(next)).hexDigitValue else {
                throw failure("a hexadecimal digit is missing")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    /// - Returns: whether it was there.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let next, [0x20, 0x0a, 0x0d, 0x09].contains(next) { position += 1 }
    }

    private func failure(_ message: String) -> Failure { Failure(message: message, position: position) }
}
