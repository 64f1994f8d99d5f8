/// Rows under headings for a terminal, each column as wide as its widest cell.
import AgentModel

struct TextTable {
    struct Cell: ExpressibleByStringInterpolation {
        var text: String
        var isMarked = false

        init(_ text: String, isMarked: Bool = false) {
            self.text = text
            self.isMarked = isMarked
        }

        init(stringLiteral value: String) { self.init(value) }
    }

    let headings: [String]
    var rows: [[Cell]] = []

    /// - Parameter style: Whether colours can be shown. Without them a marked cell has a star.
    func lines(_ style: TextStyle) -> [String] {
        let titles = headings.map { Cell($0) }
        let widths = headings.indices.map { column in
            ([titles] + rows).map { $0[column].text.printable.columns }.max() ?? 0
        }
        let heading = style.bold(line(titles, widths, TextStyle(hasColour: false), mark: " "))
        return [heading] + rows.map { line($0, widths, style, mark: "*") }
    }

    /// The first column to the left, figures to the right.
    private func line(_ cells: [Cell], _ widths: [Int], _ style: TextStyle, mark: String) -> String {
        let fields = zip(cells, widths).enumerated().map { column, field in
            let (cell, width) = field
            let text = cell.text.printable
            let padding = String(repeating: " ", count: width - text.columns)
            let shown = cell.isMarked ? style.green(text) : text
            return column == 0 ? shown + padding : padding + shown + (cell.isMarked ? mark : " ")
        }
        return fields.joined(separator: "  ").trimmingEnd
    }
}

/// What can be shown where text goes.
public struct TextStyle: Sendable {
    public let hasColour: Bool

    public init(hasColour: Bool) { self.hasColour = hasColour }

    func bold(_ text: String) -> String { painted(text, "1") }
    func green(_ text: String) -> String { painted(text, "32") }
    func faint(_ text: String) -> String { painted(text, "2") }

    private func painted(_ text: String, _ code: String) -> String {
        hasColour && !text.isEmpty ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}

extension String {
    fileprivate var trimmingEnd: String {
        String(self[..<(lastIndex { $0 != " " }.map(index(after:)) ?? startIndex)])
    }
}
