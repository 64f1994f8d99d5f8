/// The bytes of an input, read from the front, where an input says what happens and not only what is read.
struct FuzzInput {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isEmpty: Bool { rest.isEmpty }

    /// - Returns: 0 at the end.
    mutating func byte() -> Int { Int(rest.popFirst() ?? 0) }

    mutating func number(below limit: Int) -> Int { (byte() << 16 | byte() << 8 | byte()) % limit }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func remaining() -> [UInt8] { bytes(rest.count) }

    /// Byte strings with their lengths before them, in two bytes, as `joined` makes them.
    mutating func parts() -> [[UInt8]] {
        var parts: [[UInt8]] = []
        while !isEmpty { parts.append(bytes(byte() << 8 | byte())) }
        return parts
    }

    static func joined(_ parts: [[UInt8]]) -> [UInt8] {
        parts.flatMap { [UInt8($0.count >> 8 & 0xff), UInt8($0.count & 0xff)] + $0 }
    }
}

/// Pieces of sizes that the bytes themselves decide, as a network delivers them.
func pieces(of bytes: some Collection<UInt8>) -> [ArraySlice<UInt8>] {
    var rest = Array(bytes)[...]
    var pieces: [ArraySlice<UInt8>] = []
    while let first = rest.first {
        let piece = rest.prefix(1 + Int(first) % 37)
        pieces.append(piece)
        rest = rest.dropFirst(piece.count)
    }
    return pieces
}

func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }
