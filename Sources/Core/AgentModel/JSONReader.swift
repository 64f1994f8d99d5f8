/// Parses JSON text (RFC 8259) and rewrites it for Foundation's decoder. Moves each text of a secret member into a
/// ``Secret``, and writes the index of the secret instead.
///
/// Numbers that fit an `Int` become plain digits (`1.0` and `1e2` too). Other numbers become a list in a list, so that
/// decoding fails with an error that names the member.
struct JSONReader: ~Copyable {
    private let text: UnsafeRawBufferPointer
    private let nesting: Int
    private let secretMembers: Set<String>
    private var position = 0
    private var output: [UInt8] = []
    private var secrets: [Secret] = []

    private init(_ text: UnsafeRawBufferPointer, nesting: Int, _ secretMembers: Set<String>) {
        self.text = text
        self.nesting = nesting
        self.secretMembers = secretMembers
        output.reserveCapacity(text.count)
    }

    static func read(
        _ text: UnsafeRawBufferPointer, nesting: Int, _ secretMembers: Set<String>
    ) throws(JSONFault) -> (text: [UInt8], secrets: [Secret]) {
        // Zero bytes mean UTF-16, UTF-32, or text that C would truncate.
        guard !text.contains(0), isUTF8(text) else { throw .notUTF8 }
        var reader = JSONReader(text, nesting: nesting, secretMembers)
        try reader.value(depth: 0, isSecret: false)
        guard reader.next == nil else { throw .notJSON }
        return (reader.output, reader.secrets)
    }

    private static func isUTF8(_ text: UnsafeRawBufferPointer) -> Bool {
        var (bytes, decoder) = (text.makeIterator(), UTF8())
        while true {
            switch decoder.decode(&bytes) {
            case .scalarValue: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }

    // MARK: Bytes

    private var byte: UInt8? { position < text.count ? text[position] : nil }

    /// Next byte after white space.
    private var next: UInt8? {
        mutating get {
            while let byte, [0x20, 0x09, 0x0a, 0x0d].contains(byte) { position += 1 }
            return byte
        }
    }

    private mutating func consume(_ character: Unicode.Scalar) -> Bool {
        guard byte == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func consumeNext(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func write(_ character: Unicode.Scalar) { output.append(UInt8(ascii: character)) }

    // MARK: Values

    private mutating func value(depth: Int, isSecret: Bool) throws(JSONFault) {
        switch next {
        case UInt8(ascii: "{"): try object(depth: depth, isSecret: isSecret)
        case UInt8(ascii: "["): try list(depth: depth, isSecret: isSecret)
        case UInt8(ascii: "\""):
            let content = try string()
            if isSecret { lift(content) } else { write(content) }
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: try number()
        }
    }

    private mutating func object(depth: Int, isSecret: Bool) throws(JSONFault) {
        guard depth < nesting else { throw .nestsTooDeep }
        position += 1
        write("{")
        if !consumeNext("}") {
            while true {
                guard next == UInt8(ascii: "\"") else { throw .notJSON }
                let name = try string()
                write(name)
                guard consumeNext(":") else { throw .notJSON }
                write(":")
                try value(depth: depth + 1, isSecret: isSecret || isSecretName(name))
                if consumeNext("}") { break }
                guard consumeNext(",") else { throw .notJSON }
                write(",")
            }
        }
        write("}")
    }

    private mutating func list(depth: Int, isSecret: Bool) throws(JSONFault) {
        guard depth < nesting else { throw .nestsTooDeep }
        position += 1
        write("[")
        if !consumeNext("]") {
            while true {
                try value(depth: depth + 1, isSecret: isSecret)
                if consumeNext("]") { break }
                guard consumeNext(",") else { throw .notJSON }
                write(",")
            }
        }
        write("]")
    }

    private mutating func word(_ word: StaticString) throws(JSONFault) {
        let end = position + word.utf8CodeUnitCount
        let isThere = word.withUTF8Buffer { end <= text.count && text[position..<end].elementsEqual($0) }
        guard isThere else { throw .notJSON }
        output += text[position..<end]
        position = end
    }

    // MARK: Numbers

    private mutating func number() throws(JSONFault) {
        let isNegative = consume("-")
        var digits = position..<position + 1
        if !consume("0") { digits = try self.digits() }
        var fraction = position..<position
        if consume(".") { fraction = try self.digits() }
        var exponent = 0
        if consume("e") || consume("E") {
            let isBelow = consume("-")
            if !isBelow { _ = consume("+") }
            exponent = Self.bounded(text[try self.digits()]) * (isBelow ? -1 : 1)
        }
        if let integer = Self.integer(
            isNegative: isNegative, digits: Array(text[digits]) + text[fraction], exponent: exponent - fraction.count)
        {
            output += String(integer).utf8
        } else {
            output += "[[]]".utf8
        }
    }

    private mutating func digits() throws(JSONFault) -> Range<Int> {
        let start = position
        while let byte, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw .notJSON }
        return start..<position
    }

    /// Value of an exponent, at most a million. Larger values have the same effect for texts of this size.
    private static func bounded(_ digits: some Collection<UInt8>) -> Int {
        digits.reduce(0) { min($0 * 10 + Int($1 - UInt8(ascii: "0")), 1_000_000) }
    }

    /// - Parameter exponent: Power of ten, within a few millions.
    /// - Returns: nil if the value is not exactly an `Int`.
    private static func integer(isNegative: Bool, digits: [UInt8], exponent: Int) -> Int? {
        let zero = UInt8(ascii: "0")
        var significant = digits.drop { $0 == zero }
        var exponent = exponent
        while significant.last == zero {
            significant.removeLast()
            exponent += 1
        }
        guard !significant.isEmpty else { return 0 }
        // An `Int` has at most 19 digits.
        guard (0..<19).contains(exponent), significant.count <= 19 else { return nil }
        let text = significant + Array(repeating: zero, count: exponent)
        return Int((isNegative ? "-" : "") + String(decoding: text, as: UTF8.self))
    }

    // MARK: Texts

    /// Skips a text, validates its escapes and returns the position of its content.
    private mutating func string() throws(JSONFault) -> Range<Int> {
        position += 1
        let start = position
        while let byte {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return start..<position - 1
            case UInt8(ascii: "\\"): _ = try escape()
            case ..<0x20: throw .notJSON
            default: continue
            }
        }
        throw .notJSON
    }

    private mutating func write(_ content: Range<Int>) {
        write("\"")
        output += text[content]
        write("\"")
    }

    /// Parses an escape after its backslash.
    private mutating func escape() throws(JSONFault) -> Unicode.Scalar {
        guard let byte else { throw .notJSON }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw .notJSON
        }
        let high = try codeUnit()
        guard UTF16.isSurrogate(high) else { return Unicode.Scalar(high) ?? "\u{fffd}" }
        // A lone surrogate is not a character.
        guard UTF16.isLeadSurrogate(high), consume("\\"), consume("u") else { throw .notJSON }
        let low = try codeUnit()
        guard UTF16.isTrailSurrogate(low) else { throw .notJSON }
        return UTF16.decode(UTF16.EncodedScalar([high, low]))
    }

    private mutating func codeUnit() throws(JSONFault) -> UInt16 {
        let end = position + 4
        guard end <= text.count, text[position..<end].allSatisfy(Self.isHexadecimal),
            let unit = UInt16(String(decoding: text[position..<end], as: UTF8.self), radix: 16)
        else { throw .notJSON }
        position = end
        return unit
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    // MARK: Secrets

    private mutating func isSecretName(_ content: Range<Int>) -> Bool {
        guard !secretMembers.isEmpty else { return false }
        var name = [UInt8](repeating: 0, count: content.count)
        let count = name.withUnsafeMutableBytes { decode(content, into: $0) }
        return secretMembers.contains(String(decoding: name.prefix(count), as: UTF8.self))
    }

    private mutating func lift(_ content: Range<Int>) {
        // An escape is never shorter than its character in UTF-8.
        let memory = ProtectedMemory(byteCount: content.count)
        let count = decode(content, into: memory.bytes)
        write("\"")
        output += String(secrets.count).utf8
        write("\"")
        secrets.append(Secret(memory.bytes.prefix(count)))
    }

    /// Unescapes a validated text into `target`, which must be at least as long. Returns the number of bytes.
    private mutating func decode(_ content: Range<Int>, into target: UnsafeMutableRawBufferPointer) -> Int {
        let end = position
        defer { position = end }
        position = content.lowerBound
        var count = 0
        while position < content.upperBound {
            let byte = text[position]
            position += 1
            if byte == UInt8(ascii: "\\"), let scalar = try? escape() {
                for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter where count < target.count {
                    target[count] = unit
                    count += 1
                }
            } else if count < target.count {
                target[count] = byte
                count += 1
            }
        }
        return count
    }
}
