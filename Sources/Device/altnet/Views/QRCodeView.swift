import QRCode

/// A QR code in characters of a terminal, to be held before a camera.
struct QRCodeView {
    let code: QRCode

    /// - Returns: nil where the terminal is narrower than the code.
    func render(_ style: Style) -> String? {
        let lines = style.isUnicode ? halfBlocks(style) : squares(style)
        guard lines.allSatisfy({ $0.columns <= style.width }) else { return nil }
        return lines.map { paint($0, style) }.joined(separator: "\n")
    }

    private var range: Range<Int> { -QRCode.quietZone..<(code.size + QRCode.quietZone) }

    /// Two modules a character, one above the other.
    private func halfBlocks(_ style: Style) -> [String] {
        stride(from: range.lowerBound, to: range.upperBound, by: 2).map { row in
            range.map { column in
                switch (isInk(row, column, style), isInk(row + 1, column, style)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }.joined()
        }
    }

    /// A module is two characters wide, and so about as wide as high.
    private func squares(_ style: Style) -> [String] {
        range.map { row in
            range.map { isInk(row, $0, style) ? "##" : "  " }.joined()
        }
    }

    /// With colours the ink is black on white. Without, most terminals are dark and their ink is light.
    private func isInk(_ row: Int, _ column: Int, _ style: Style) -> Bool { code[row, column] == style.hasColour }

    /// Colours of the fixed part of the palette, for themes change the first 16. Without blocks, the ink is all colour.
    private func paint(_ line: String, _ style: Style) -> String {
        guard style.hasColour else { return line }
        let (black, white) = ("\u{1b}[38;5;16;48;5;16m", "\u{1b}[38;5;16;48;5;231m")
        guard !style.isUnicode else { return white + line + "\u{1b}[0m" }
        var painted = ""
        var isInked: Bool?
        for character in line {
            if isInked != (character == "#") { painted += character == "#" ? black : white }
            isInked = character == "#"
            painted.append(character)
        }
        return painted + "\u{1b}[0m"
    }
}
