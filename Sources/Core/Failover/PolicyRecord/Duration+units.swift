import AgentModel

/// A length of time as people write it: whole numbers with their units, the longest unit first, each at most once.
extension Duration {
    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]
    private static let hundredYears = Duration.seconds(36_525 * 86_400)

    /// Reads `90s`, `1h30m`, `2s500ms`; nil for anything else, and beyond a hundred years.
    public init?(inUnits text: some StringProtocol) {
        guard !text.isEmpty else { return nil }
        var rest = text[...]
        var units = Self.units[...]
        var sum = Duration.zero
        while !rest.isEmpty {
            let digits = rest.prefix(while: \.isDecimalDigit)
            let unit = rest.dropFirst(digits.count).prefix { !$0.isDecimalDigit }
            guard digits.count <= 13, let number = Int64(digits),
                let index = units.firstIndex(where: { $0.name == unit })
            else { return nil }
            sum += .milliseconds(units[index].milliseconds) * number
            units = units[(index + 1)...]
            rest = rest.dropFirst(digits.count + unit.count)
        }
        guard sum <= Self.hundredYears else { return nil }
        self = sum
    }

    /// `1h30m`, to the millisecond.
    public var inUnits: String {
        var rest = milliseconds
        var text = ""
        for (name, length) in Self.units where rest >= length {
            text += "\(rest / length)\(name)"
            rest %= length
        }
        return text.isEmpty ? "0s" : text
    }
}

extension Character {
    fileprivate var isDecimalDigit: Bool { isASCII && isNumber }
}
