import AgentModel
import Failover

extension TimelinePicture {
    /// Events of one time, drawn as a label on a vertical line above the chart.
    struct Flag {
        let x: Double
        let text: String
        let label: ClosedRange<Double>
        let count: Int
        var row: Int?
    }

    private static let flagText = SVGDrawing.Lettering(size: 12.5, hasRim: true)
    private static let widestFlag = 300.0

    var flagRowsInUse: Int { (flags.compactMap(\.row).max() ?? -1) + 1 }

    var unlabelled: Int { flags.filter { $0.row == nil }.map(\.count).reduce(0, +) }

    func drawHappenings(on drawing: inout SVGDrawing, above chartTop: Double, to bottom: Double) {
        let flags = flags
        func y(_ row: Int) -> Double { chartTop - 10 - Double(row) * Self.rowHeight }
        for flag in flags {
            let top = flag.row.map { y($0) - 9 } ?? chartTop - 6
            drawing.line(flag.x, top, flag.x, chartTop, .init(colour: Palette.happening, width: 1))
            guard flag.row != nil else { continue }
            drawing.line(flag.x, chartTop, flag.x, bottom, .init(colour: Palette.happening, width: 1, dashes: "1 4"))
        }
        for flag in flags {
            guard let row = flag.row else { continue }
            drawing.text(flag.text, flag.label.lowerBound, y(row), Self.flagText)
        }
    }

    private static func flags(of happenings: [Timeline.Mark], at place: (Duration) -> Double) -> [Flag] {
        var groups: [(x: Double, texts: [String])] = []
        for mark in happenings.sorted(by: { $0.at < $1.at }) {
            let x = place(mark.at)
            if let last = groups.last, x - last.x < 2 {
                groups[groups.count - 1].texts.append(mark.text)
            } else {
                groups.append((x, [mark.text]))
            }
        }
        var flags = groups.map { flag(at: $0.x, $0.texts) }
        // Label repeated events last, if they have space.
        var known: Set<String> = []
        let isNew = flags.map { known.insert($0.text).inserted }
        let rows = Spacing.rows(
            flags.map { Spacing.Flag(x: $0.x, label: $0.label) }, first: isNew, count: flagRows, gap: 8)
        for index in flags.indices { flags[index].row = rows[index] }
        return flags
    }

    var flags: [Flag] { Self.flags(of: timeline.happenings, at: x) }

    /// Returns a flag with its label right of the pole, or left of it at the edge of the picture.
    private static func flag(at x: Double, _ texts: [String]) -> Flag {
        let all = texts.joined(separator: ", ")
        let others = texts.count == 1 ? "" : ", and \(texts.count - 1) more"
        let few = flagText.fitted(texts[0], to: widestFlag - flagText.width(of: others)) + others
        let text = flagText.width(of: all) <= widestFlag ? all : few
        let width = flagText.width(of: text)
        let start = x + 4 + width <= labels.upperBound ? x + 4 : x - 4 - width
        return Flag(x: x, text: text, label: start...(start + width), count: texts.count)
    }
}

extension TimelinePicture {
    /// Decisions to list, in order of time, and the number of omitted decisions.
    struct Reasons {
        let listed: [PolicyDecision]
        let omitted: Int
    }

    private static let limit = 20

    var reasons: Reasons {
        // Omit `online` first, because the chart shows it.
        let byWeight = timeline.decisions.enumerated().sorted {
            ($0.element.kind.weight, $0.offset) < ($1.element.kind.weight, $1.offset)
        }
        let listed = byWeight.prefix(Self.limit).sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        return Reasons(listed: listed.map(\.element), omitted: timeline.decisions.count - listed.count)
    }

    func time(of decision: PolicyDecision) -> Duration { .milliseconds(decision.at.milliseconds) }

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
        drawing.circle(x, y, radius: 9.5, colour: Palette.ink)
        let lettering = SVGDrawing.Lettering(
            size: 12.5, colour: Palette.paper, isBold: true, anchor: .middle)
        drawing.text("\(number)", x, y + 4, lettering)
    }

    private static let textIndent = 96.0

    private static func columnWidth(_ columns: Int) -> Double { (width - 2 * margin) / Double(columns) }

    private static func columns(for texts: [String]) -> Int {
        let longest = texts.map(plainText.width).max() ?? 0
        return texts.count > 6 && longest <= columnWidth(2) - textIndent - 16 ? 2 : 1
    }
}

extension PolicyDecision.Kind {
    /// Priority in a list with limited space, 0 to 3. Lower values have priority.
    fileprivate var weight: Int {
        switch self {
        case .join: 0
        case .lost, .failed, .unusable: 1
        case .blocked, .usable, .stay, .search, .standby: 2
        case .online: 3
        }
    }
}
