import AgentModel
import Failover

extension TimelinePicture {
    /// The decisions that are told, in the order of time, and how many are not.
    struct Reasons {
        let listed: [PolicyDecision]
        let omitted: Int
    }

    private static let limit = 20

    var reasons: Reasons {
        // That the device came online is seen in the picture, so it is what is told last.
        let byWeight = timeline.decisions.enumerated().sorted {
            ($0.element.kind.weight, $0.offset) < ($1.element.kind.weight, $1.offset)
        }
        let listed = byWeight.prefix(Self.limit).sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        return Reasons(listed: listed.map(\.element), omitted: timeline.decisions.count - listed.count)
    }

    func time(of decision: PolicyDecision) -> Duration { .milliseconds(decision.at.milliseconds) }

    /// - Returns: The height that the picture has to have.
    func drawReasons(on drawing: inout SVGDrawing, under top: Double) -> Double {
        let reasons = reasons
        guard !reasons.listed.isEmpty else { return top - 6 }
        drawing.text("What was decided, and why", Self.margin, top, .init(size: 14, isBold: true))
        let texts = reasons.listed.map(\.text)
        let columns = Self.columns(for: texts)
        let rows = (texts.count + columns - 1) / columns
        let moment = SVGDrawing.Lettering(size: 13, colour: Palette.faintInk, anchor: .end)
        func y(_ row: Int) -> Double { top + 26 + Double(row) * 22 }
        for (index, (decision, text)) in zip(reasons.listed, texts).enumerated() {
            let left = Self.margin + Double(index / rows) * Self.columnWidth(columns)
            let y = y(index % rows)
            drawMarker(index + 1, left + 9, y - 4, on: &drawing)
            drawing.text(time(of: decision).clock, left + 84, y, moment)
            let fitted = Self.plainText.fitted(text, to: Self.columnWidth(columns) - Self.textIndent)
            drawing.text(fitted, left + Self.textIndent, y, Self.plainText)
        }
        guard reasons.omitted > 0 else { return y(rows) + 8 }
        drawing.text("and \(reasons.omitted) more", Self.margin + Self.textIndent, y(rows), Self.faintText)
        return y(rows + 1) + 8
    }

    func drawMarker(_ number: Int, _ x: Double, _ y: Double, on drawing: inout SVGDrawing) {
        drawing.circle(x, y, radius: 8.5, colour: Palette.ink)
        let lettering = SVGDrawing.Lettering(
            size: number < 10 ? 11 : 10, colour: Palette.paper, isBold: true, anchor: .middle)
        drawing.text("\(number)", x, y + 4, lettering)
    }

    private static let textIndent = 96.0

    private static func columnWidth(_ columns: Int) -> Double { (width - 2 * margin) / Double(columns) }

    /// Two, where many reasons are short enough for that.
    private static func columns(for texts: [String]) -> Int {
        let longest = texts.map(plainText.width).max() ?? 0
        return texts.count > 6 && longest <= columnWidth(2) - textIndent - 16 ? 2 : 1
    }
}

extension PolicyDecision.Kind {
    /// Lower is told before higher, where there is no room for all.
    fileprivate var weight: Int {
        switch self {
        case .join: 0
        case .lost, .failed, .unusable: 1
        case .blocked, .usable, .stay, .search: 2
        case .online: 3
        }
    }
}
