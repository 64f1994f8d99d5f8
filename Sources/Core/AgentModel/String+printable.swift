// Text from outside as it can be shown anywhere: in a terminal, in a picture, in a report.

extension Unicode.Scalar {
    /// Whether it is shown as itself, in its place, and moves nothing.
    package var isPlain: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        case .nonspacingMark, .enclosingMark, .spacingMark: false
        case .spaceSeparator: self == " "
        default: true
        }
    }
}

extension String {
    /// The text with everything that could move a cursor, hide itself or reorder the line as `\xNN`.
    package var printable: String {
        unicodeScalars.map { scalar in
            scalar.isPlain ? String(scalar) : String(scalar).utf8.map { "\\x" + Hex.string([$0]) }.joined()
        }.joined()
    }
}
