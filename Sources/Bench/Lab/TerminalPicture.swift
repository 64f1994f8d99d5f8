/// Picture (SVG) of a terminal's content, for pages.
public struct TerminalPicture {
    private let lines: [[Span]]

    private static let lineHeight = 19
    private static let characterWidth = 8

    /// - Parameter lines: text with colours only (ECMA-48, SGR): `ESC [ n m` starts a colour, `ESC [ 0 m` ends it. Each
    ///   character takes one column.
    public init(lines: [String]) { self.lines = lines.map(Span.spans) }

    public var svg: String {
        let columns = lines.compactMap { $0.last.map { $0.column + $0.text.count } }.max() ?? 0
        let width = columns * Self.characterWidth + 40
        let height = lines.count * Self.lineHeight + 30
        let rows = lines.enumerated().map { index, spans in
            let y = 28 + index * Self.lineHeight
            return "<text y=\"\(y)\" xml:space=\"preserve\">\(spans.map(Self.element).joined())</text>\n"
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)" \
            font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="13" fill="#d8dee9">
            <rect width="100%" height="100%" rx="8" fill="#1b1f27"/>
            \(rows.joined())</svg>

            """
    }

    /// Returns the SVG element of a span. Each element has a position and a length, because characters from a fallback
    /// font may have another width.
    private static func element(_ span: Span) -> String {
        let text = span.text.reduce(into: "") { text, character in
            switch character {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            default: text.append(character)
            }
        }
        let x = 20 + span.column * characterWidth
        let length = span.text.count * characterWidth
        return "<tspan x=\"\(x)\" textLength=\"\(length)\"\(attributes[span.code] ?? "")>\(text)</tspan>"
    }

    private static let attributes = [
        "1": " font-weight=\"bold\" fill=\"#ffffff\"", "2": " fill=\"#7b8494\"", "31": " fill=\"#f07178\"",
        "32": " fill=\"#8fd18b\"", "33": " fill=\"#e6c07b\"", "34": " fill=\"#82aaff\"", "35": " fill=\"#d3a6ff\"",
        "36": " fill=\"#7fdbe6\" font-weight=\"bold\"",
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
            if !text.isEmpty {
                spans.append(Span(text: text, column: column, code: String(end.map { part[..<$0] } ?? "")))
            }
            column += text.count
        }
        return spans
    }
}
