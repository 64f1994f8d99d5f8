/// Rows under headings, each column as wide as its widest cell. Where the terminal is narrower, columns that may shrink
/// are cut.
struct Table {
    struct Column {
        var title: String
        var isRightAligned = false
        /// The width below which it is not cut, or nil if it is never cut.
        var minimum: Int?
    }

    struct Cell: ExpressibleByStringInterpolation {
        let text: String
        var paint: Style.Paint?

        init(_ text: String, _ paint: Style.Paint? = nil) {
            self.text = text
            self.paint = paint
        }

        init(stringLiteral value: String) { self.init(value) }
    }

    var columns: [Column]
    var rows: [[Cell]] = []

    private static let gap = 2

    func render(_ style: Style) -> String {
        let widths = widths(style)
        let heading = line(columns.map { Cell($0.title, .bold) }, widths, style)
        return ([heading] + rows.map { line($0, widths, style) }).joined(separator: "\n")
    }

    private func widths(_ style: Style) -> [Int] {
        var widths = columns.indices.map { index in
            rows.map { $0[index].text.columns }.reduce(columns[index].title.columns, max)
        }
        var excess = widths.reduce(0, +) + Self.gap * (columns.count - 1) - style.width
        while excess > 0 {
            let candidates = columns.indices.filter { widths[$0] > columns[$0].minimum ?? .max }
            guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { break }
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }

    private func line(_ cells: [Cell], _ widths: [Int], _ style: Style) -> String {
        let fields = columns.indices.map { index in
            let text = cells[index].text.fitted(to: widths[index], ellipsis: style.ellipsis)
            let padding = String(repeating: " ", count: widths[index] - text.columns)
            let painted = style.paint(text, cells[index].paint)
            if columns[index].isRightAligned { return padding + painted }
            return index == columns.count - 1 ? painted : painted + padding
        }
        return fields.joined(separator: String(repeating: " ", count: Self.gap))
    }
}
