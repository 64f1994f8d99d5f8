import AgentModel

/// Words that a fuzzer puts into its inputs, as libFuzzer's dictionaries have them.
public struct FuzzDictionary: Sendable {
    public let words: [[UInt8]]

    /// The edges of every integer and exponent, which no coverage leads to: an overflow is no branch.
    public static let integers = FuzzDictionary(words: IntegerEdges.words)

    /// The words of a target's own format, where it has some.
    public init(of target: FuzzTarget) {
        self.init(reading: TestFile.lines(of: "Tests/Fuzzing/Dictionaries/\(target.name).dict"))
    }

    init(words: [[UInt8]]) { self.words = words }

    /// Reads lines such as `"a\x0d\"\\"`; all others are comments.
    init(reading lines: [String]) {
        words = lines.filter { $0.hasPrefix("\"") && $0.hasSuffix("\"") && $0.utf8.count > 2 }.map { line in
            var word: [UInt8] = []
            var rest = line.utf8.dropFirst().dropLast()
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
                    word.append(byte)
                    continue
                }
                guard escaped == UInt8(ascii: "x") else {
                    word.append(escaped)
                    continue
                }
                word += Hex.bytes(String(decoding: rest.prefix(2), as: UTF8.self)) ?? []
                rest = rest.dropFirst(2)
            }
            return word
        }
    }

    /// As libFuzzer reads it.
    public var text: String {
        words.map { word in
            let escaped = word.map { byte in
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): "\\" + String(Unicode.Scalar(byte))
                case 0x20...0x7e: String(Unicode.Scalar(byte))
                default: "\\x" + Hex.string([byte])
                }
            }
            return "\"\(escaped.joined())\"\n"
        }.joined()
    }
}

private enum IntegerEdges {
    static var words: [[UInt8]] {
        let words =
            edges(Int8.self) + edges(Int16.self) + edges(Int32.self) + edges(Int64.self) + edges(UInt8.self)
            + edges(UInt16.self) + edges(UInt32.self) + edges(UInt64.self) + (exact + exponents).map { Array($0.utf8) }
        var seen: Set<[UInt8]> = []
        return words.filter { seen.insert($0).inserted }
    }

    /// The largest and the smallest number and those beside them: in decimal, and as they are in memory and on the
    /// wire.
    private static func edges<Number: FixedWidthInteger>(_: Number.Type) -> [[UInt8]] {
        let numbers: [Number] = [.max, .max - 1, .min, .min + 1]
        let text = numbers.flatMap { ["\($0)", hexadecimal($0)] } + [beyond(Number.self)]
        let bytes = numbers.flatMap { number in
            [number.littleEndian, number.bigEndian].map { Swift.withUnsafeBytes(of: $0, Array.init) }
        }
        return text.map { Array($0.utf8) } + bytes
    }

    private static func hexadecimal(_ number: some FixedWidthInteger) -> String {
        Hex.string(Swift.withUnsafeBytes(of: number.bigEndian, Array.init))
    }

    /// The largest number and one.
    private static func beyond<Number: FixedWidthInteger>(_: Number.Type) -> String {
        let magnitude = UInt64(Number.max)
        return magnitude == .max ? "18446744073709551616" : "\(magnitude + 1)"
    }

    /// What a Double and a number of JSON can still tell apart.
    private static let exact = [
        "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993", "-9223372036854775809",
        "340282366920938463463374607431768211456", "0.1", "-0", "-0.0", "00", "1.", ".1", "1e", "+1",
    ]

    private static let exponents = [
        "1e308", "1e309", "1e400", "-1e400", "1e-308", "5e-324", "1e-400", "0e400", "1E+19", "1e18", "1e19", "-1e19",
        "1e20", "1.7976931348623157e308", "10e9223372036854775806", "10e9223372036854775807",
        "10e9223372036854775808", "0e9223372036854775807", "-0.0e9223372036854775807", "1e-9223372036854775808",
        "0.1e-9223372036854775808", "1e2147483647", "1e2147483648", "1e-2147483648", "1e-2147483649",
        "1e18446744073709551616",
    ]
}
