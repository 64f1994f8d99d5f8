/// Reads values from a message. Positions and alignment count from the beginning of the message.
struct DBusReader {
    private let bytes: [UInt8]
    private(set) var position: Int
    private let isBigEndian: Bool
    private var valueCount = 0

    /// Maximum number of values in one message. Limits memory: a decoded empty text takes forty times its two received
    /// bytes.
    static let mostValues = 65_536

    init(_ bytes: [UInt8], from position: Int, isBigEndian: Bool) {
        (self.bytes, self.position, self.isBigEndian) = (bytes, position, isBigEndian)
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func align(to boundary: Int) throws(DBusFault) {
        let aligned = (position + boundary - 1) / boundary * boundary
        guard aligned <= bytes.count else { throw .truncated }
        // The specification requires zero padding.
        guard bytes[position..<aligned].allSatisfy({ $0 == 0 }) else { throw .badValue }
        position = aligned
    }

    private mutating func read(_ count: Int) throws(DBusFault) -> ArraySlice<UInt8> {
        guard count <= bytes.count - position else { throw .truncated }
        defer { position += count }
        return bytes[position..<position + count]
    }

    mutating func integer<Number: FixedWidthInteger & UnsignedInteger>(_: Number.Type) throws(DBusFault) -> Number {
        let size = Number.bitWidth / 8
        try align(to: size)
        let part = try read(size)
        var number: Number = 0
        for byte in isBigEndian ? Array(part) : part.reversed() { number = number << 8 | Number(byte) }
        return number
    }

    private mutating func text(_ length: Int) throws(DBusFault) -> String {
        let part = try read(length)
        guard try read(1).first == 0, !part.contains(0), let text = String(validating: part, as: UTF8.self) else {
            throw .badValue
        }
        return text
    }

    mutating func signature() throws(DBusFault) -> String { try text(Int(integer(UInt8.self))) }

    mutating func values(_ signature: String) throws(DBusFault) -> [DBusValue] {
        var rest = Array(signature.utf8)[...]
        guard rest.count <= DBusSignature.longest else { throw .badSignature }
        var values: [DBusValue] = []
        while !rest.isEmpty {
            let length = try DBusSignature.lengthOfFirstType(rest)
            values.append(try value(rest.prefix(length), depth: 0))
            rest = rest.dropFirst(length)
        }
        return values
    }

    /// - Parameter type: one complete, validated type.
    private mutating func value(_ type: ArraySlice<UInt8>, depth: Int) throws(DBusFault) -> DBusValue {
        guard depth <= DBusSignature.deepest, let first = type.first else { throw .nestsTooDeep }
        valueCount += 1
        guard valueCount <= Self.mostValues else { throw .tooLong }
        switch first {
        case UInt8(ascii: "y"): return .byte(try integer(UInt8.self))
        case UInt8(ascii: "b"):
            let number = try integer(UInt32.self)
            guard number <= 1 else { throw .badValue }
            return .boolean(number == 1)
        case UInt8(ascii: "n"): return .int16(Int16(bitPattern: try integer(UInt16.self)))
        case UInt8(ascii: "q"): return .uint16(try integer(UInt16.self))
        case UInt8(ascii: "i"): return .int32(Int32(bitPattern: try integer(UInt32.self)))
        // Decodes a file descriptor as its index, because descriptors themselves are not received.
        case UInt8(ascii: "u"), UInt8(ascii: "h"): return .uint32(try integer(UInt32.self))
        case UInt8(ascii: "x"): return .int64(Int64(bitPattern: try integer(UInt64.self)))
        case UInt8(ascii: "t"): return .uint64(try integer(UInt64.self))
        case UInt8(ascii: "d"): return .double(try integer(UInt64.self))
        case UInt8(ascii: "s"): return .string(try text(length()))
        case UInt8(ascii: "o"): return .objectPath(try text(length()))
        case UInt8(ascii: "g"): return .signature(try signature())
        case UInt8(ascii: "v"):
            let inner = Array(try signature().utf8)[...]
            guard inner.count <= DBusSignature.longest, !inner.isEmpty,
                try DBusSignature.lengthOfFirstType(inner) == inner.count
            else { throw .badSignature }
            return .variant(try value(inner, depth: depth + 1))
        case UInt8(ascii: "a"): return try array(of: type.dropFirst(), depth: depth + 1)
        case UInt8(ascii: "("), UInt8(ascii: "{"):
            try align(to: 8)
            var rest = type.dropFirst().dropLast()
            var members: [DBusValue] = []
            while !rest.isEmpty {
                let length = try DBusSignature.lengthOfFirstType(rest)
                members.append(try value(rest.prefix(length), depth: depth + 1))
                rest = rest.dropFirst(length)
            }
            guard first == UInt8(ascii: "{") else { return .structure(members) }
            guard members.count == 2 else { throw .badSignature }
            return .entry(members[0], members[1])
        default: throw .badSignature
        }
    }

    private mutating func length() throws(DBusFault) -> Int {
        let length = try integer(UInt32.self)
        guard length < DBusMessage.longest else { throw .tooLong }
        return Int(length)
    }

    private mutating func array(of element: ArraySlice<UInt8>, depth: Int) throws(DBusFault) -> DBusValue {
        let length = try length()
        guard let first = element.first else { throw .badSignature }
        try align(to: DBusSignature.alignment(first))
        guard length <= bytes.count - position else { throw .truncated }
        if element.elementsEqual([UInt8(ascii: "y")]) { return .bytes(Array(try read(length))) }
        let end = position + length
        var elements: [DBusValue] = []
        while position < end { elements.append(try value(element, depth: depth)) }
        guard position == end else { throw .badValue }
        return .array(of: String(decoding: element, as: UTF8.self), elements)
    }
}

/// Writes values in little-endian order.
struct DBusWriter {
    private(set) var bytes: [UInt8] = []

    mutating func align(to boundary: Int) {
        while !bytes.count.isMultiple(of: boundary) { bytes.append(0) }
    }

    mutating func put<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number) {
        let size = Number.bitWidth / 8
        align(to: size)
        for index in 0..<size { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }

    private mutating func put(_ text: String) {
        put(UInt32(clamping: text.utf8.count))
        bytes += Array(text.utf8) + [0]
    }

    mutating func put(signature: String) {
        bytes += [UInt8(clamping: signature.utf8.count)] + Array(signature.utf8) + [0]
    }

    mutating func put(_ value: DBusValue) {
        switch value {
        case .byte(let number): bytes.append(number)
        case .boolean(let flag): put(flag ? 1 : 0 as UInt32)
        case .int16(let number): put(UInt16(bitPattern: number))
        case .uint16(let number): put(number)
        case .int32(let number): put(UInt32(bitPattern: number))
        case .uint32(let number): put(number)
        case .int64(let number): put(UInt64(bitPattern: number))
        case .uint64(let number), .double(let number): put(number)
        case .string(let text), .objectPath(let text): put(text)
        case .signature(let text): put(signature: text)
        case .bytes(let content):
            put(UInt32(clamping: content.count))
            bytes += content
        case .array(let element, let elements):
            put(UInt32(0))
            let start = bytes.count - 4
            align(to: DBusSignature.alignment(element.utf8.first ?? 0))
            let first = bytes.count
            for element in elements { put(element) }
            let length = UInt32(clamping: bytes.count - first)
            for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> (8 * index)) }
        case .structure(let members):
            align(to: 8)
            for member in members { put(member) }
        case .entry(let key, let value):
            align(to: 8)
            put(key)
            put(value)
        case .variant(let value):
            put(signature: value.signature)
            put(value)
        }
    }

    mutating func append(_ more: [UInt8]) { bytes += more }
}
