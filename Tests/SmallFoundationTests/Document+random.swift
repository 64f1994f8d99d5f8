import FoundationComparison

extension Document {
    static func random(depth: Int, using random: inout some RandomNumberGenerator) -> Document {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: .null
        case 1: .bool(.random(using: &random))
        case 2: .number(Numbers(int64: .random(in: .min ... .max, using: &random), double: nil))
        case 3: .number(Numbers(uint64: .random(in: 0 ... .max, using: &random), double: nil))
        case 4: .number(Numbers(double: double(using: &random)))
        case 5: .string(string(using: &random))
        case 6:
            .array(
                (0..<Int.random(in: 0...4, using: &random)).map { _ in self.random(depth: depth - 1, using: &random) })
        default:
            .object(
                Dictionary(
                    (0..<Int.random(in: 0...4, using: &random)).map { _ in
                        (string(using: &random), self.random(depth: depth - 1, using: &random))
                    }
                ) { first, _ in first })
        }
    }

    /// Of any size, and finite.
    private static func double(using random: inout some RandomNumberGenerator) -> Double {
        let double = Double(bitPattern: .random(in: 0 ... .max, using: &random))
        return double.isFinite ? double : Double(Int.random(in: -1000...1000, using: &random)) / 8
    }

    private static func string(using random: inout some RandomNumberGenerator) -> String {
        let scalars: [Unicode.Scalar] = [
            "a", "b", "B", "/", "\"", "\\", "\n", "\u{1}", "\u{1f}", "\u{7f}", "é", "e", "\u{301}", "\u{2028}", "😀",
            "\u{10ffff}",
        ]
        var string = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            string.append(scalars.randomElement(using: &random) ?? "a")
        }
        return String(string)
    }
}
