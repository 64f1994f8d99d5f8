extension String {
    /// Returns the text with each line wrapped at `width` columns, between words. Further lines begin below the text
    /// after the last gap of two or more spaces in the first half, else below the first character. A word that is
    /// longer than a line stays whole.
    package func wrapped(to width: Int) -> String {
        split(separator: "\n", omittingEmptySubsequences: false).map { Self.wrap($0, to: width) }
            .joined(separator: "\n")
    }

    private static func wrap(_ line: Substring, to width: Int) -> String {
        guard line.unescaped.columns > width else { return String(line) }
        let margin = String(repeating: " ", count: hanging(line.unescaped, limit: width / 2))
        var lines: [String] = []
        var current = ""
        for word in line.split(separator: " ", omittingEmptySubsequences: false) {
            let (length, added) = (current.unescaped.columns, word.unescaped.columns)
            let isBlank = current.unescaped.allSatisfy { $0 == " " }
            if !isBlank, added > 0, length + 1 + added > width, margin.count + added <= width {
                lines.append(current.trimmedEnd)
                current = margin + word
            } else {
                current += current.isEmpty && word.startIndex == line.startIndex ? word : " " + word
            }
        }
        return (lines + [current]).joined(separator: "\n")
    }

    /// Returns the column after the last gap that ends at `limit` or before. The indentation is a gap too.
    private static func hanging(_ line: String, limit: Int) -> Int {
        var (column, spaces, found) = (0, 2, 0)
        for scalar in line.unicodeScalars {
            if scalar != " ", spaces >= 2 { found = column }
            spaces = scalar == " " ? spaces + 1 : 0
            column += String(scalar).columns
            if column > limit { break }
        }
        return found
    }

    private var trimmedEnd: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}

extension StringProtocol {
    /// The text without the escape sequences of colours.
    package var unescaped: String {
        var (text, isEscape) = (String.UnicodeScalarView(), false)
        for scalar in unicodeScalars {
            if scalar == "\u{1b}" { isEscape = true }
            if !isEscape { text.append(scalar) }
            if isEscape, scalar == "m" { isEscape = false }
        }
        return String(text)
    }
}
