/// Bytes written as pairs of lower-case hexadecimal digits.
public enum Hex {
    public static func string(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: bytes.lazy.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xf)]] }, as: UTF8.self)
    }

    /// The bytes that `text` stands for, or nil if it is not an even number of hexadecimal digits.
    public static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let values = text.unicodeScalars.map(value)
        guard values.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(values.count / 2)
        for index in stride(from: 0, to: values.count, by: 2) {
            guard let high = values[index], let low = values[index + 1] else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private static func value(_ scalar: Unicode.Scalar) -> UInt8? {
        switch scalar {
        case "0"..."9": UInt8(scalar.value - 48)
        case "a"..."f": UInt8(scalar.value - 87)
        case "A"..."F": UInt8(scalar.value - 55)
        default: nil
        }
    }
}
