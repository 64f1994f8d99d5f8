import AgentModel
import Failover

/// A word of a scenario file. White space separates words that are not in quotes.
struct ScenarioWord: Hashable, Sendable {
    let text: String
    /// Text between the quotes with resolved escapes, or `text` without quotes.
    let bytes: [UInt8]
    let isQuoted: Bool

    /// Text of a keyword, name or number; nil for a quoted word.
    var plain: String? { isQuoted ? nil : text }
}

// MARK: Numbers

extension ScenarioWord {
    /// Returns a whole number, with or without its unit; nil if invalid.
    func integer(in range: ClosedRange<Int>, unit: String) -> Int? {
        number(unit: unit).flatMap { Self.integer($0, in: range) }
    }

    /// Returns a number with at most six decimal places, with or without its unit; nil if invalid.
    func decimal(in range: ClosedRange<Double>, unit: String) -> Double? {
        number(unit: unit).flatMap { Self.decimal($0, in: range) }
    }

    /// Share from a percentage, 0 to 1: `30%` is 0.3.
    var share: Double? {
        guard let plain, plain.hasSuffix("%") else { return nil }
        return Self.decimal(plain.dropLast(), in: 0...100).map { $0 / 100 }
    }

    /// Point from a text such as `20,-5.5`: metres east and north.
    var point: Scenario.Point? {
        guard let parts = plain?.split(separator: ",", omittingEmptySubsequences: false), parts.count == 2,
            let x = Self.decimal(parts[0], in: -10_000...10_000), let y = Self.decimal(parts[1], in: -10_000...10_000)
        else { return nil }
        return Scenario.Point(x: x, y: y)
    }

    /// Range in MHz, from `2400-2483` or `2400-2483MHz`.
    var frequencyRange: ClosedRange<Int>? {
        guard let ends = number(unit: "MHz")?.split(separator: "-", omittingEmptySubsequences: false),
            ends.count == 2, let lowest = Self.integer(ends[0], in: 2400...5900),
            let highest = Self.integer(ends[1], in: lowest...5900)
        else { return nil }
        return lowest...highest
    }

    private func number(unit: String) -> Substring? {
        guard let plain else { return nil }
        return plain.hasSuffix(unit) ? plain.dropLast(unit.count) : plain[...]
    }

    /// Returns an integer, but nil for `+5`, which `Int.init` accepts.
    private static func integer(_ text: Substring, in range: ClosedRange<Int>) -> Int? {
        guard !text.hasPrefix("+"), let value = Int(text), range.contains(value) else { return nil }
        return value
    }

    /// Returns a number, but nil for `nan`, `1e9` and `0x1p3`, which `Double.init` accepts.
    private static func decimal(_ text: Substring, in range: ClosedRange<Double>) -> Double? {
        let parts = (text.hasPrefix("-") ? text.dropFirst() : text).split(
            separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.allSatisfy({ (1...6).contains($0.count) && $0.allSatisfy(\.isDecimalDigit) }),
            let value = Double(text), range.contains(value)
        else { return nil }
        return value
    }
}

// MARK: Times

extension ScenarioWord {
    /// Duration from a text such as `90s`, `1h30m` or `2s500ms`.
    var duration: Duration? { plain.flatMap { Duration(inUnits: $0) } }
}

extension Character {
    fileprivate var isDecimalDigit: Bool { isASCII && isNumber }
}

// MARK: Names

extension ScenarioWord {
    var ssid: SSID? { try? SSID(bytes: bytes) }

    /// Password of 8 to 63 printable ASCII characters.
    var password: String? {
        (try? Passphrase.validate(Secret(bytes))) == nil ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Name of an access point: a letter, then letters, digits, `-` and `_`, at most 32.
    var accessPointName: String? {
        guard let plain, let first = plain.utf8.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first | 0x20,
            plain.utf8.count <= 32, plain.utf8.allSatisfy(Self.isAllowedInName)
        else { return nil }
        return plain
    }

    private static func isAllowedInName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
