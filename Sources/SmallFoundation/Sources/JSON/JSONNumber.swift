/// The digits of a number, and the power of ten that they are to be multiplied with: `-1.50e2` is -15 and 1.
private struct Digits {
    let isNegative: Bool
    /// Without zeros at the end; nothing but them is nothing.
    private(set) var digits: [UInt8]
    /// Nil where it is beyond counting.
    private(set) var exponent: Int?

    /// - Parameter number: of the grammar of JSON.
    init(_ number: String) {
        let number = number.utf8
        isNegative = number.first == UInt8(ascii: "-")
        let mantissa = number.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        let point = mantissa.firstIndex(of: UInt8(ascii: ".")) ?? mantissa.endIndex
        digits = mantissa.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let fraction = mantissa.distance(from: point, to: mantissa.endIndex) - (point == mantissa.endIndex ? 0 : 1)
        let written = number[mantissa.endIndex...].dropFirst()
        exponent = (written.isEmpty ? 0 : Int(Substring(written))).flatMap { exponent in
            let (exponent, overflow) = exponent.subtractingReportingOverflow(fraction)
            return overflow ? nil : exponent
        }
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            self.exponent? += 1
        }
    }

    var isZero: Bool { digits.isEmpty }
}

extension FixedWidthInteger {
    /// - Parameter number: of the grammar of JSON: `1.5e1` is 15.
    /// - Returns: nil for what is no such integer, however near it is.
    init?(json number: String) {
        if let integer = Self(number) {
            self = integer
            return
        }
        let digits = Digits(number)
        if digits.isZero {
            self = 0
            return
        }
        // No integer here has more digits than these.
        guard let exponent = digits.exponent, (0...40).contains(exponent), !digits.isNegative || Self.isSigned else {
            return nil
        }
        let text = digits.digits + Array(repeating: UInt8(ascii: "0"), count: exponent)
        self.init((digits.isNegative ? "-" : "") + String(decoding: text, as: UTF8.self))
    }
}

extension BinaryFloatingPoint where Self: LosslessStringConvertible {
    /// The nearest one.
    /// - Parameter number: of the grammar of JSON.
    /// - Returns: nil for what is too large, and for what is not zero but would become it.
    init?(json number: String) {
        guard let value = Self(number), value.isFinite, !value.isZero || Digits(number).isZero else { return nil }
        self = value
    }
}
