import AgentModel

extension Unicode.Scalar {
    /// How many columns of a terminal it takes: two in the blocks that East Asian Width calls wide, and for emoji (UAX #11).
    fileprivate var columns: Int {
        switch value {
        case ..<0x1100: 1
        case 0x1100...0x115f, 0x2329...0x232a, 0x2e80...0xa4cf, 0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff,
            0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18d08, 0x1aff0...0x1b2fb,
            0x1f200...0x1f265, 0x1f300...0x1faff, 0x20000...0x3fffd:
            2
        default: properties.isEmojiPresentation ? 2 : 1
        }
    }
}

extension String {
    /// The width of printable text in columns of a terminal.
    var columns: Int { unicodeScalars.reduce(0) { $0 + $1.columns } }

    /// The text cut to that many columns, with `ellipsis` where something was cut off.
    func fitted(to width: Int, ellipsis: String) -> String {
        guard columns > width else { return self }
        var room = width - ellipsis.columns
        guard room >= 0 else { return "" }
        let start = unicodeScalars.prefix { scalar in
            room -= scalar.columns
            return room >= 0
        }
        return String(start) + ellipsis
    }
}
