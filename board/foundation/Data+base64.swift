extension Data {
    /// Reads standard Base64 (RFC 4648, clause 4), padded.
    /// - Returns: nil for anything else, white space too.
    public init?(base64Encoded text: String) { self.init(base64: Array(text.utf8)) }

    public init?(base64Encoded text: Data) { self.init(base64: Array(text)) }

    private init?(base64 text: [UInt8]) {
        guard text.count % 4 == 0 else { return nil }
        let padding = text.reversed().prefix(2).prefix { $0 == UInt8(ascii: "=") }.count
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var bits: UInt32 = 0
        for (index, character) in text.dropLast(padding).enumerated() {
            guard let value = Self.value(of: character) else { return nil }
            bits = bits << 6 | value
            if index % 4 > 0 { bytes.append(UInt8(truncatingIfNeeded: bits >> (6 - 2 * UInt32(index % 4)))) }
        }
        self.init(bytes)
    }

    public func base64EncodedString() -> String { String(decoding: base64EncodedData(), as: UTF8.self) }

    public func base64EncodedData() -> Data {
        let alphabet = Self.alphabet
        var text = Data(capacity: (count + 2) / 3 * 4)
        var index = startIndex
        while index < endIndex {
            let left = endIndex - index
            let bits =
                UInt32(self[index]) << 16 | (left > 1 ? UInt32(self[index + 1]) << 8 : 0)
                | (left > 2 ? UInt32(self[index + 2]) : 0)
            for place in 0..<4 {
                text.append(
                    place <= left ? alphabet[Int(bits >> (18 - 6 * UInt32(place)) & 63)] : UInt8(ascii: "="))
            }
            index += 3
        }
        return text
    }

    private static var alphabet: [UInt8] {
        Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
