/// A picture (SVG) of what a terminal showed, for a page that cannot run the demo.
struct TerminalPicture {
    let lines: [[Stage.Span]]

    private static let lineHeight = 19
    private static let characterWidth = 8

    var svg: String {
        let columns = lines.map { $0.map(\.text.count).reduce(0, +) }.max() ?? 0
        let width = columns * Self.characterWidth + 40
        let height = lines.count * Self.lineHeight + 30
        let rows = lines.enumerated().map { index, spans in
            let y = 28 + index * Self.lineHeight
            return "<text x=\"20\" y=\"\(y)\" xml:space=\"preserve\">\(spans.map(Self.element).joined())</text>\n"
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)" \
            font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="13" fill="#d8dee9">
            <rect width="100%" height="100%" rx="8" fill="#1b1f27"/>
            \(rows.joined())</svg>

            """
    }

    private static func element(_ span: Stage.Span) -> String {
        let text = span.text.reduce(into: "") { text, character in
            switch character {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            default: text.append(character)
            }
        }
        return span.style == .plain ? text : "<tspan \(span.style.attribute)>\(text)</tspan>"
    }
}

extension Stage.Style {
    fileprivate var attribute: String {
        switch self {
        case .plain: ""
        case .bold: "font-weight=\"bold\" fill=\"#ffffff\""
        case .faint: "fill=\"#7b8494\""
        case .red: "fill=\"#f07178\""
        case .green: "fill=\"#8fd18b\""
        case .yellow: "fill=\"#e6c07b\""
        case .blue: "fill=\"#82aaff\""
        case .magenta: "fill=\"#d3a6ff\""
        case .cyan: "fill=\"#7fdbe6\" font-weight=\"bold\""
        }
    }
}
