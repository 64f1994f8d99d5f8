/// Elements of a picture, one after the other. Everything that is text in it is escaped here and nowhere else.
import AgentModel

package struct SVGDrawing {
    package private(set) var elements: [String] = []

    package init() {}

    package enum Anchor: String { case start, middle, end }

    /// How a text looks.
    package struct Lettering {
        package var size: Double
        package var colour: String
        package var isBold: Bool
        package var anchor: Anchor
        /// A rim in the background's colour, for text that lies over lines.
        package var hasRim: Bool

        package init(
            size: Double, colour: String = Palette.ink, isBold: Bool = false, anchor: Anchor = .start,
            hasRim: Bool = false
        ) {
            (self.size, self.colour, self.isBold, self.anchor, self.hasRim) = (size, colour, isBold, anchor, hasRim)
        }
    }

    /// How a line looks.
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

    /// Lines through the points of each run, with gaps between the runs.
    package mutating func path(_ runs: [[(x: Double, y: Double)]], _ stroke: Stroke) {
        let steps = runs.filter { !$0.isEmpty }.map { run in
            "M" + run.map { "\($0.x.coordinate) \($0.y.coordinate)" }.joined(separator: "L")
        }
        guard !steps.isEmpty else { return }
        elements.append(
            "<path d=\"\(steps.joined())\" fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"round\" "
                + "\(stroke.attributes)/>")
    }

    /// - Parameter tip: shown by a browser where the pointer is over it.
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
        ]
        elements.append("<text \(attributes.compactMap(\.self).joined(separator: " "))>\(Self.escaped(text))</text>")
    }

    /// The document. What was drawn is on its own background, so that it can be read on any page.
    package func document(width: Double, height: Double, title: String) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width.coordinate) \(height.coordinate)" \
        width="\(width.coordinate)" height="\(height.coordinate)" role="img" \
        font-family="system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif">
        <title>\(Self.escaped(title))</title>
        <rect width="100%" height="100%" rx="10" fill="\(Palette.paper)"/>
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
    /// Tenths of a pixel are enough.
    fileprivate var coordinate: String {
        let text = fixed(1)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
