extension TimelinePicture {
    /// What happened at one moment, as a flag on a pole above the chart.
    struct Flag {
        let x: Double
        let text: String
        let label: ClosedRange<Double>
        /// How many happenings it stands for.
        let count: Int
        /// Nil where there is no room for the label.
        var row: Int?
    }

    private static let flagText = SVGDrawing.Lettering(size: 12, hasRim: true)
    private static let widestFlag = 300.0

    /// How many rows the labels of happenings take.
    var flagRowsInUse: Int { (flags.compactMap(\.row).max() ?? -1) + 1 }

    /// How many happenings have no label.
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

    private static func flags(of happenings: [Timeline.Note], at place: (Duration) -> Double) -> [Flag] {
        var groups: [(x: Double, texts: [String])] = []
        for note in happenings.sorted(by: { $0.at < $1.at }) {
            let x = place(note.at)
            if let last = groups.last, x - last.x < 2 {
                groups[groups.count - 1].texts.append(note.text)
            } else {
                groups.append((x, [note.text]))
            }
        }
        var flags = groups.map { flag(at: $0.x, $0.texts) }
        // What happens again and again is labelled as often as there is room, after everything has been labelled once.
        var known: Set<String> = []
        let isNew = flags.map { known.insert($0.text).inserted }
        let rows = Spacing.rows(
            flags.map { Spacing.Flag(x: $0.x, label: $0.label) }, first: isNew, count: flagRows, gap: 8)
        for index in flags.indices { flags[index].row = rows[index] }
        return flags
    }

    var flags: [Flag] { Self.flags(of: timeline.happenings, at: x) }

    /// The label is right of its pole, or left of it where the picture ends.
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
