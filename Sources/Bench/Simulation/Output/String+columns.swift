extension String {
    /// The width of printable text in columns of a terminal.
    var columns: Int { unicodeScalars.reduce(0) { $0 + ($1.isWide ? 2 : 1) } }
}

extension Unicode.Scalar {
    /// Whether it takes two columns: the blocks that East Asian Width calls wide (UAX #11).
    var isWide: Bool {
        switch value {
        case 0x1100...0x115f, 0x2e80...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60,
            0xffe0...0xffe6, 0x1f300...0x1faff, 0x20000...0x3fffd:
            true
        default: false
        }
    }
}
