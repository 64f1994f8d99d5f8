/// A table with headings. Each column is as wide as its widest cell. In a narrow terminal, texts are first wrapped
/// between words, then long words are cut, down to the minimum of a column. If the table is still too wide, the columns
/// with the lowest rank are left out.
package struct Table {
    package struct Column {
        package var title: String
        package var isRightAligned = false
        /// Minimum width after truncation, in terminal columns; nil if a truncated value is useless (a hash).
        package var minimum: Int?
        /// Rank of the column. A column with a lower rank is left out earlier; a column without a rank always stays.
        package var rank: Int?

        package init(title: String, isRightAligned: Bool = false, minimum: Int? = nil, rank: Int? = nil) {
            (self.title, self.isRightAligned, self.minimum, self.rank) = (title, isRightAligned, minimum, rank)
        }
    }

    package struct Cell: ExpressibleByStringInterpolation {
        package let text: String
        package var paint: Style.Paint?

        package init(_ text: String, _ paint: Style.Paint? = nil) {
            self.text = text
            self.paint = paint
        }

        package init(stringLiteral value: String) { self.init(value) }
    }

    package var columns: [Column]
    package var rows: [[Cell]] = []

    package init(columns: [Column], rows: [[Cell]] = []) { (self.columns, self.rows) = (columns, rows) }

    private static let gap = 2
    /// Minimum width of truncated columns if the table is still too wide without the ranked columns.
    private static let last = 4
    /// Lengths up to which words stay whole, in the order of attempts to fit the table.
    private static let wholeWords = [32, 14]

    package func render(_ style: Style) -> String {
        let fields = fields(style.width)
        let heading = line(columns.map { Cell($0.title, .bold) }, fields, style)
        return ([heading] + rows.map { line($0, fields, style) }).joined(separator: "\n")
    }

    /// Returns the minimum width of a column, with which its words and its heading stay whole.
    private func minimum(of column: Int, natural: Int, wholeWords: Int) -> Int {
        guard let minimum = columns[column].minimum else { return natural }
        let words = rows.flatMap { $0[column].text.split(separator: " ") }
        let lengths = words.map { String($0).columns } + [columns[column].title.columns]
        return min(natural, lengths.filter { $0 <= wholeWords }.reduce(minimum, max))
    }

    /// A visible column and its width.
    private struct Field {
        let column: Int
        var width: Int
        let minimum: Int
    }

    private func fields(_ width: Int) -> [Field] {
        var shown = Array(columns.indices)
        while true {
            var fields: [Field] = []
            for wholeWords in Self.wholeWords {
                fields = shown.map { column in
                    let natural = rows.map { $0[column].text.columns }.reduce(columns[column].title.columns, max)
                    let minimum = minimum(of: column, natural: natural, wholeWords: wholeWords)
                    return Field(column: column, width: natural, minimum: minimum)
                }
                if Self.narrow(&fields, to: width) { return fields }
            }
            guard let least = shown.filter({ columns[$0].rank != nil }).min(by: { rank($0) < rank($1) }) else {
                fields = fields.map { field in
                    let minimum = columns[field.column].minimum == nil ? field.minimum : min(field.minimum, Self.last)
                    return Field(column: field.column, width: field.width, minimum: minimum)
                }
                _ = Self.narrow(&fields, to: width)
                return fields
            }
            shown.removeAll { $0 == least }
        }
    }

    private func rank(_ column: Int) -> Int { columns[column].rank ?? .max }

    /// Narrows the widest columns, one character at a time, but not below their minimum.
    /// - Returns: true if the columns fit.
    private static func narrow(_ fields: inout [Field], to width: Int) -> Bool {
        var excess = fields.map(\.width).reduce(0, +) + gap * (fields.count - 1) - width
        while excess > 0 {
            let candidates = fields.indices.filter { fields[$0].width > fields[$0].minimum }
            guard let widest = candidates.max(by: { fields[$0].width < fields[$1].width }) else { return false }
            fields[widest].width -= 1
            excess -= 1
        }
        return true
    }

    /// Returns a row, of several lines if a text is wrapped.
    private func line(_ cells: [Cell], _ fields: [Field], _ style: Style) -> String {
        let texts = fields.map { field in
            cells[field.column].text.wrapped(to: field.width).split(separator: "\n", omittingEmptySubsequences: false)
        }
        return (0..<(texts.map(\.count).max() ?? 0)).map { number in
            zip(fields, texts).enumerated().map { position, part in
                let (field, lines) = part
                let text = (lines.indices.contains(number) ? String(lines[number]) : "")
                    .fitted(to: field.width, ellipsis: style.ellipsis)
                let padding = String(repeating: " ", count: field.width - text.columns)
                let painted = style.paint(text, cells[field.column].paint)
                if columns[field.column].isRightAligned { return padding + painted }
                return position == fields.count - 1 ? painted : painted + padding
            }.joined(separator: String(repeating: " ", count: Self.gap))
        }.joined(separator: "\n")
    }
}

extension Unicode.Scalar {
    /// Width in terminal columns: 2 for wide East Asian blocks and emoji, else 1 (UAX #11).
    fileprivate var columns: Int {
        switch value {
        case ..<0x1100: 1
        case 0x1100...0x115f, 0x2329...0x232a, 0x2e80...0xa4cf, 0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff,
            0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18d08, 0x1aff0...0x1b2fb,
            0x1f200...0x1f265, 0x1f300...0x1faff, 0x20000...0x3fffd:
            2
        default: properties.isEmojiPresentation ? 2 : 1
        }
    }
}

extension String {
    /// Width of printable text in terminal columns.
    package var columns: Int { unicodeScalars.reduce(0) { $0 + $1.columns } }

    /// Returns the text cut to `width` columns, with `ellipsis` at the end if something is cut off.
    package func fitted(to width: Int, ellipsis: String) -> String {
        guard columns > width else { return self }
        var room = width - ellipsis.columns
        guard room >= 0 else { return "" }
        let start = unicodeScalars.prefix { scalar in
            room -= scalar.columns
            return room >= 0
        }
        return String(start) + ellipsis
    }
}
