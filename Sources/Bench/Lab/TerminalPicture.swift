import Simulation

/// Picture (SVG) of a terminal's content, for pages.
public struct TerminalPicture {
    private let lines: [[Span]]

    private static let lineHeight = 19.0
    private static let characterWidth = 8.0

    /// - Parameter lines: text with colours only (ECMA-48, SGR): `ESC [ n m` starts a colour, `ESC [ 0 m` ends it. Each
    ///   character takes one column.
    public init(lines: [String]) { self.lines = lines.map(Span.spans) }

    /// Returns the SVG document. Each span has a position and a length, because characters from a fallback font may
    /// have another width.
    public func svg(title: String, about: String) -> String {
        var drawing = SVGDrawing()
        for (index, spans) in lines.enumerated() {
            let y = 28 + Double(index) * Self.lineHeight
            for span in spans {
                var lettering = Self.letterings[span.code] ?? .init(size: 13, colour: "#d8dee9")
                lettering.length = Double(span.text.count) * Self.characterWidth
                drawing.text(span.text, 20 + Double(span.column) * Self.characterWidth, y, lettering)
            }
        }
        let columns = lines.compactMap { $0.last.map { $0.column + $0.text.count } }.max() ?? 0
        return drawing.document(
            width: Double(columns) * Self.characterWidth + 40, height: Double(lines.count) * Self.lineHeight + 30,
            title: title, about: about, on: .terminal)
    }

    /// Looks by the code of the colour (ECMA-48).
    private static let letterings: [String: SVGDrawing.Lettering] = [
        "1": .init(size: 13, colour: "#ffffff", isBold: true), "2": .init(size: 13, colour: "#8b95a5"),
        "31": .init(size: 13, colour: "#f07178"), "32": .init(size: 13, colour: "#8fd18b"),
        "33": .init(size: 13, colour: "#e6c07b"), "34": .init(size: 13, colour: "#82aaff"),
    ]
}

private struct Span {
    let text: String
    let column: Int
    let code: String

    static func spans(_ line: String) -> [Span] {
        var spans: [Span] = []
        var column = 0
        for (index, part) in line.split(separator: "\u{1b}[", omittingEmptySubsequences: false).enumerated() {
            // Text before the first sequence has no code.
            let end = index == 0 ? nil : part.firstIndex(of: "m")
            let text = String(end.map { part[part.index(after: $0)...] } ?? part)
            let code = String(end.map { part[..<$0] } ?? "")
            // Words have spans of their own, because browsers collapse spaces.
            for word in text.split(separator: " ", omittingEmptySubsequences: false) {
                if !word.isEmpty { spans.append(Span(text: String(word), column: column, code: code)) }
                column += word.count + 1
            }
            column -= 1
        }
        return spans
    }
}
