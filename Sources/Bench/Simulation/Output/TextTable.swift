import AgentModel
import FoundationEssentials

/// Table for a terminal. Each column is as wide as its widest cell.
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

    /// - Parameter style: style of headings and marked cells. Marked cells also have a star.
    func lines(_ style: TextStyle) -> [String] {
        let titles = headings.map { Cell($0) }
        let widths = headings.indices.map { column in
            ([titles] + rows).map { $0[column].text.printable.columns }.max() ?? 0
        }
        let heading = style.bold(line(titles, widths, TextStyle(hasColour: false), mark: " "))
        return [heading] + rows.map { line($0, widths, style, mark: "*") }
    }

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

extension String {
    /// Width of printable text in terminal columns.
    var columns: Int { unicodeScalars.reduce(0) { $0 + ($1.isWide ? 2 : 1) } }
}

extension Unicode.Scalar {
    /// Whether a terminal shows the character in two columns (East Asian Width W, UAX #11).
    var isWide: Bool {
        switch value {
        case 0x1100...0x115f, 0x2e80...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60,
            0xffe0...0xffe6, 0x1f300...0x1faff, 0x20000...0x3fffd:
            true
        default: false
        }
    }
}

extension Double {
    /// Returns the number as text with this many decimal places, 0 to 6; `-` if it is not finite or too large.
    package func fixed(_ places: Int) -> String {
        let scale = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000][Swift.min(Swift.max(places, 0), 6)]
        let scaled = (self * Double(scale)).rounded()
        guard abs(scaled) < 1e18 else { return "-" }
        let whole = Int(scaled)
        let (quotient, remainder) = whole.magnitude.quotientAndRemainder(dividingBy: UInt(scale))
        let fraction = scale == 1 ? "" : "." + String(String(UInt(scale) + remainder).dropFirst())
        return (whole < 0 ? "-" : "") + "\(quotient)" + fraction
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

    /// Hours and minutes as text, such as `0:05`.
    var hoursAndMinutes: String {
        let minutes = components.seconds / 60
        return "\(minutes / 60):\(twoDigits(minutes % 60))"
    }

    /// Hours, minutes and seconds as text, such as `0:05:07`.
    var clock: String { "\(hoursAndMinutes):\(twoDigits(components.seconds % 60))" }

    /// Hours, minutes, seconds and tenths as text, such as `0:05:07.3`.
    var clockWithTenths: String { "\(clock).\(milliseconds % 1000 / 100)" }

    /// Duration as text with units, such as `1.6 s`, `4 min 10 s`, `2 h 5 min` or `3 d 4 h`.
    var inWords: String {
        let seconds = Int64(inSeconds.rounded())
        func pair(_ large: Int64, _ largeUnit: String, _ small: Int64, _ smallUnit: String) -> String {
            small == 0 ? "\(large) \(largeUnit)" : "\(large) \(largeUnit) \(small) \(smallUnit)"
        }
        return switch seconds {
        case ..<1 where self < .seconds(1) && self > .zero: "\(inSeconds.fixed(2)) s"
        case ..<60: "\(inSeconds.fixed(inSeconds == inSeconds.rounded() ? 0 : 1)) s"
        case ..<3600: pair(seconds / 60, "min", seconds % 60, "s")
        case ..<86_400: pair(seconds / 3600, "h", seconds % 3600 / 60, "min")
        default: pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h")
        }
    }
}

private func twoDigits(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

func counted(_ number: Int, _ one: String, _ many: String) -> String { "\(number) \(number == 1 ? one : many)" }

/// Encodes JSON text with sorted keys, so that equal documents have equal text.
public enum JSONText {
    /// - Throws: `EncodingError` for a number that is not finite.
    public static func of(_ document: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        return String(decoding: try encoder.encode(document), as: UTF8.self)
    }
}
