/// The standard alphabet, with padding (RFC 4648, clause 4).
extension Data {
    public func base64EncodedString() -> String {
        String(unsafeUninitializedCapacity: (count + 2) / 3 * 4) { text in
            withUnsafeBytes { bytes in
                var written = 0
                for first in stride(from: 0, to: bytes.count, by: 3) {
                    let group = bytes[first..<Swift.min(first + 3, bytes.count)]
                    var bits = group.reduce(0 as UInt32) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
                    bits <<= 8
                    for place in 0..<4 {
                        text[written] = place <= group.count ? Base64.alphabet[Int(bits >> 26)] : Base64.padding
                        bits <<= 6
                        written += 1
                    }
                }
                return written
            }
        }
    }

    /// - Returns: nil for anything that is not of the alphabet, spaces and line feeds too, and where there is not the
    ///   padding that has to be. Bits that are left over may be anything.
    public init?(base64Encoded text: __shared String) {
        let text = Array(text.utf8)
        let digits = text.prefix { $0 != Base64.padding }
        guard text.count.isMultiple(of: 4), text.count - digits.count <= 2,
            text[digits.endIndex...].allSatisfy({ $0 == Base64.padding })
        else { return nil }
        self.init(capacity: text.count / 4 * 3)
        var bits: UInt32 = 0
        for (index, digit) in digits.enumerated() {
            guard let value = Base64.value(of: digit) else { return nil }
            bits = bits << 6 | value
            // The first digit of a group completes no byte, each other one does.
            let left = 6 - 2 * UInt32(index % 4)
            if left < 6 { append(UInt8(truncatingIfNeeded: bits >> left)) }
        }
    }
}

private enum Base64 {
    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    static let padding = UInt8(ascii: "=")

    static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
