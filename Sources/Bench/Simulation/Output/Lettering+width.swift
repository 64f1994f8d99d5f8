/// How wide text will be is known only to whoever draws it; this is an estimate for the widest of the usual sans-serif fonts,
/// DejaVu Sans, so that what has room by it has room in the others.
import AgentModel

extension SVGDrawing.Lettering {
    package func width(of text: String) -> Double {
        text.printable.unicodeScalars.reduce(0) { $0 + Self.share($1) } * size * (isBold ? 1.1 : 1)
    }

    /// The text cut to that width, with an ellipsis where something was cut off.
    package func fitted(_ text: String, to room: Double) -> String {
        let text = text.printable
        guard width(of: text) > room else { return text }
        var rest = room - width(of: "…")
        guard rest >= 0 else { return "" }
        let start = text.unicodeScalars.prefix { scalar in
            rest -= width(of: String(scalar))
            return rest >= 0
        }
        return String(start) + "…"
    }

    /// The text in lines of that width. A word that has no room in a line is cut.
    package func wrapped(_ text: String, to room: Double) -> [String] {
        text.split(whereSeparator: \.isWhitespace).reduce(into: [String]()) { lines, word in
            let word = fitted(String(word), to: room)
            if let line = lines.last, width(of: line + " " + word) <= room {
                lines[lines.count - 1] = line + " " + word
            } else {
                lines.append(word)
            }
        }
    }

    /// In parts of the font's size.
    private static func share(_ scalar: Unicode.Scalar) -> Double {
        switch scalar {
        case _ where scalar.isWide: 1.1
        case "i", "j", "l", "I", "f", "t", "r", " ", ".", ",", ":", ";", "'", "|", "!", "(", ")", "[", "]": 0.4
        case "m", "w", "M", "W", "@", "%", "…", "→": 1
        case "A"..."Z": 0.74
        case "\u{20}"..."\u{7e}": 0.63
        default: 0.85
        }
    }
}
