import AgentModel

/// Elements of a picture in drawing order. All text is escaped.
///
/// Text widths are estimates for DejaVu Sans, the widest of the usual sans-serif fonts, so that other fonts also fit.
package struct SVGDrawing {
    package private(set) var elements: [String] = []

    package init() {}

    package enum Anchor: String { case start, middle, end }

    package struct Lettering {
        package var size: Double
        package var colour: String
        package var isBold: Bool
        package var anchor: Anchor
        /// Whether text has an outline in the background colour, so that it is readable over lines.
        package var hasRim: Bool
        /// Width that the text is stretched to; nil for the font's own width.
        package var length: Double?

        package init(
            size: Double, colour: String = Palette.ink, isBold: Bool = false, anchor: Anchor = .start,
            hasRim: Bool = false, length: Double? = nil
        ) {
            (self.size, self.colour, self.isBold, self.anchor, self.hasRim) = (size, colour, isBold, anchor, hasRim)
            self.length = length
        }
    }

    package struct Stroke {
        package var colour: String
        package var width: Double
        package var dashes: String?
        package var opacity: Double

        package init(colour: String, width: Double, dashes: String? = nil, opacity: Double = 1) {
            (self.colour, self.width, self.dashes, self.opacity) = (colour, width, dashes, opacity)
        }

        fileprivate var attributes: String {
            "stroke=\"\(colour)\" stroke-width=\"\(width.coordinate)\""
                + (dashes.map { " stroke-dasharray=\"\($0)\"" } ?? "")
                + (opacity < 1 ? " stroke-opacity=\"\(opacity.fixed(2))\"" : "")
        }
    }

    package mutating func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ stroke: Stroke) {
        elements.append(
            "<line x1=\"\(x1.coordinate)\" y1=\"\(y1.coordinate)\" x2=\"\(x2.coordinate)\" y2=\"\(y2.coordinate)\" "
                + "\(stroke.attributes)/>")
    }

    /// Draws one line per run, with gaps between runs.
    package mutating func path(_ runs: [[(x: Double, y: Double)]], _ stroke: Stroke) {
        let steps = runs.filter { !$0.isEmpty }.map { run in
            "M" + run.map { "\($0.x.coordinate) \($0.y.coordinate)" }.joined(separator: "L")
        }
        guard !steps.isEmpty else { return }
        elements.append(
            "<path d=\"\(steps.joined())\" fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"round\" "
                + "\(stroke.attributes)/>")
    }

    /// - Parameter tip: text that browsers show when the pointer is over the box.
    package mutating func box(
        x: Double, y: Double, width: Double, height: Double, colour: String, radius: Double = 0, opacity: Double = 1,
        tip: String? = nil
    ) {
        let form =
            "<rect x=\"\(x.coordinate)\" y=\"\(y.coordinate)\" width=\"\(width.coordinate)\" "
            + "height=\"\(height.coordinate)\" fill=\"\(colour)\"" + (radius > 0 ? " rx=\"\(radius.coordinate)\"" : "")
            + (opacity < 1 ? " fill-opacity=\"\(opacity.fixed(2))\"" : "")
        elements.append(form + (tip.map { "><title>\(Self.escaped($0))</title></rect>" } ?? "/>"))
    }

    package mutating func circle(_ x: Double, _ y: Double, radius: Double, colour: String) {
        elements.append(
            "<circle cx=\"\(x.coordinate)\" cy=\"\(y.coordinate)\" r=\"\(radius.coordinate)\" fill=\"\(colour)\"/>")
    }

    package mutating func text(_ text: String, _ x: Double, _ y: Double, _ lettering: Lettering) {
        let rim = "paint-order=\"stroke\" stroke=\"\(Palette.paper)\" stroke-width=\"3\" stroke-linejoin=\"round\""
        let attributes = [
            "x=\"\(x.coordinate)\" y=\"\(y.coordinate)\" font-size=\"\(lettering.size.coordinate)\"",
            "fill=\"\(lettering.colour)\"",
            lettering.isBold ? "font-weight=\"bold\"" : nil,
            lettering.anchor == .start ? nil : "text-anchor=\"\(lettering.anchor.rawValue)\"",
            lettering.hasRim ? rim : nil,
            lettering.length.map { "textLength=\"\($0.coordinate)\"" },
        ]
        elements.append("<text \(attributes.compactMap(\.self).joined(separator: " "))>\(Self.escaped(text))</text>")
    }

    /// Draws elements as a group with this class, which the style sheet of the document animates.
    package mutating func group(_ name: String, _ draw: (inout SVGDrawing) -> Void) {
        var inner = SVGDrawing()
        draw(&inner)
        elements.append("<g class=\"\(name)\">\n\(inner.elements.joined(separator: "\n"))\n</g>")
    }

    /// Fonts and background of a document. Its own background makes it readable on any page.
    package struct Sheet {
        package let paper: String
        package let font: String
        package var style = ""

        package static let page = Sheet(
            paper: Palette.paper, font: "system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif")
        package static let terminal = Sheet(
            paper: "#1b1f27", font: "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace")

        package func styled(_ style: String) -> Sheet {
            var sheet = self
            sheet.style = "<style>\n\(style)\n</style>\n"
            return sheet
        }
    }

    /// Returns the SVG document.
    /// - Parameter about: description of the picture for people who do not see it.
    package func document(width: Double, height: Double, title: String, about: String, on sheet: Sheet = .page)
        -> String
    {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width.coordinate) \(height.coordinate)" \
        width="\(width.coordinate)" height="\(height.coordinate)" role="img" font-family="\(sheet.font)">
        <title>\(Self.escaped(title))</title>
        <desc>\(Self.escaped(about))</desc>
        \(sheet.style)<rect width="100%" height="100%" rx="10" fill="\(sheet.paper)"/>
        \(elements.joined(separator: "\n"))
        </svg>

        """
    }

    private static func escaped(_ text: String) -> String {
        text.printable.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            default: result.append(character)
            }
        }
    }
}

extension Double {
    fileprivate var coordinate: String {
        let text = fixed(1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}

extension SVGDrawing.Lettering {
    package func width(of text: String) -> Double {
        text.printable.unicodeScalars.reduce(0) { $0 + Self.share($1) } * size * (isBold ? 1.1 : 1)
    }

    /// Returns the text, cut to the width `room`. A cut text ends with an ellipsis.
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

    /// Splits the text into lines of at most the width `room`. Cuts longer words.
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

    /// Returns the width of a character relative to the font size.
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

/// Colours of a picture. Networks have colours by Okabe and Ito, which people with any colour vision can distinguish
/// ("Color Universal Design", 2008). Red is left out because it means an outage here, and yellow because it is too
/// faint on white.
package enum Palette {
    package static let paper = "#ffffff"
    package static let ink = "#1c2430"
    package static let faintInk = "#5d6875"
    package static let rule = "#e3e7ec"
    package static let threshold = "#8a94a1"
    package static let happening = "#9aa3ae"
    package static let outage = "#c8102e"
    package static let scan = "#7b8794"
    package static let lane = "#f3f5f7"

    /// Colours of an access point's line and of text on it. Dashes distinguish lines of the same colour.
    package struct Paint {
        package let colour: String
        package let text: String
        package let dashes: String?
    }

    private static let colours = [
        ("#0072b2", "#ffffff"), ("#e69f00", "#1c2430"), ("#009e73", "#ffffff"), ("#cc79a7", "#1c2430"),
        ("#56b4e9", "#1c2430"), ("#4a4a4a", "#ffffff"),
    ]

    /// Returns a network's colour for text on the background, dark enough to be readable.
    package static func nameColour(_ index: Int) -> String {
        ["#005f99", "#8a5d00", "#007556", "#9c4577", "#1f6f9f", "#4a4a4a"][index % colours.count]
    }

    package static func paint(_ index: Int) -> Paint {
        let (colour, text) = colours[index % colours.count]
        let dashes = ["", "7 4", "2 4"][index / colours.count % 3]
        return Paint(colour: colour, text: text, dashes: dashes.isEmpty ? nil : dashes)
    }
}

/// Places labels so that they do not overlap.
enum Spacing {
    /// Returns positions close to the wanted positions, in the same order. They are at least `gap` apart, or closer if
    /// space is short.
    /// - Parameter wanted: wanted positions, ascending.
    static func spread(_ wanted: [Double], gap: Double, within room: ClosedRange<Double>) -> [Double] {
        guard wanted.count > 1 else { return wanted.map { $0.clamped(to: room) } }
        let length = room.upperBound - room.lowerBound
        let gap = min(gap, length / Double(wanted.count - 1))
        // After subtracting the gaps, positions only have to ascend. Replace positions that do not by their mean. This
        // minimizes the sum of squared moves (pool adjacent violators).
        var pools: [(mean: Double, count: Int)] = []
        for (index, place) in wanted.enumerated() {
            var pool = (mean: place - Double(index) * gap, count: 1)
            while let last = pools.last, last.mean > pool.mean {
                pools.removeLast()
                let count = last.count + pool.count
                let sum = last.mean * Double(last.count) + pool.mean * Double(pool.count)
                pool = (sum / Double(count), count)
            }
            pools.append(pool)
        }
        let start = room.lowerBound...max(room.lowerBound, room.upperBound - Double(wanted.count - 1) * gap)
        return pools.flatMap { Array(repeating: $0.mean.clamped(to: start), count: $0.count) }.enumerated().map {
            $0.element + Double($0.offset) * gap
        }
    }

    /// A label next to the top of a vertical line, the pole, which marks a time.
    struct Flag: Equatable {
        let x: Double
        let label: ClosedRange<Double>

        fileprivate var pointsRight: Bool { label.lowerBound >= x }
    }

    /// Returns the row of each label, 0 at the bottom. Labels do not hide other labels or poles. A row is nil if the
    /// label has no place.
    /// - Parameters:
    ///   - flags: flags by ascending `x`.
    ///   - first: whether each flag has priority.
    ///   - count: number of rows.
    ///   - gap: minimum horizontal distance between labels, and between labels and poles.
    static func rows(_ flags: [Flag], first: [Bool], count: Int, gap: Double) -> [Int?] {
        var placed: [(flag: Flag, row: Int)] = []
        var rows = [Int?](repeating: nil, count: flags.count)
        for index in sorted(flags, first: first) {
            let flag = flags[index]
            let reach = (flag.label.lowerBound - gap)...(flag.label.upperBound + gap)
            let free = (0..<count).filter { row in
                placed.allSatisfy { other, otherRow in
                    (otherRow < row || !reach.contains(other.x)) && (otherRow != row || !reach.overlaps(other.label))
                }
            }
            // Prefer a row with no label across this flag's pole below, although such a label would be readable.
            let clear = free.first { row in
                placed.allSatisfy { other, otherRow in otherRow > row || !other.label.contains(flag.x) }
            }
            guard let row = clear ?? free.first else { continue }
            placed.append((flag, row))
            rows[index] = row
        }
        return rows
    }

    /// Returns the order in which to place flags. A flag comes after flags whose poles its label may cross, so that it
    /// gets a higher row.
    private static func sorted(_ flags: [Flag], first: [Bool]) -> [Int] {
        [true, false].flatMap { isFirst in
            let indices = flags.indices.filter { first[$0] == isFirst }
            return indices.filter { flags[$0].pointsRight }.reversed() + indices.filter { !flags[$0].pointsRight }
        }
    }
}

extension Double {
    func clamped(to range: ClosedRange<Double>) -> Double {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
