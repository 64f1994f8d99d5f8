import Simulation

/// Bar chart of the medians of time without a network. Each event has a panel with a separate scale.
public struct BenchmarkPlot: Sendable {
    private let runs: [Run]
    private let time: Run.Time

    public init(_ runs: [Run], time: Run.Time) {
        self.runs = runs
        self.time = time
    }

    static let panels: [(question: String, figure: Figure)] = [
        ("The access point loses power", .hardLoss24CN),
        ("The same, more channels (domain US)", .hardLoss24US),
        ("The signal fades, a better network is near", .weakSignal),
        ("The internet dies behind a perfect signal", .deadInternet),
        ("The preferred network returns", .homeReturns),
        ("Backup's password wrong, home returns after 40 s", .wrongPassword40),
        ("The same, home returns after 300 s", .wrongPassword300),
        ("The access point restarts", .restart),
        ("Cold start", .coldStart),
        ("Commanded switch, longest gap", .commandGap),
        ("Memory of all processes", .memory),
    ]

    private static let width = 900.0
    private static let panelWidth = 420.0
    private static let nameWidth = 124.0
    private static let barHeight = 15.0
    private static let barGap = 4.0
    private static let panelHeight = 40 + Double(StackName.allCases.count) * (barHeight + barGap)
    private static let top = 78.0
    private static let left = 24.0

    public var svg: String {
        let panels = Self.panels.filter { panel in
            StackName.allCases.contains { runs.summary(panel.figure, of: $0, in: time) != nil }
        }
        var drawing = SVGDrawing()
        drawing.text(
            "How long a device is without a network", Self.left, 34, .init(size: 20, isBold: true))
        drawing.text(
            "Medians, least and most, on real kernel radios in \(time.rawValue) time; shorter is better.", Self.left,
            56,
            .init(size: 13, colour: Palette.faintInk))
        for (index, panel) in panels.enumerated() {
            let x = Self.left + Double(index % 2) * (Self.panelWidth + 24)
            let y = Self.top + Double(index / 2) * (Self.panelHeight + 12)
            draw(panel.question, panel.figure, x, y, on: &drawing)
        }
        let rows = Double((panels.count + 1) / 2)
        return drawing.document(
            width: Self.width, height: Self.top + rows * (Self.panelHeight + 12) + 8,
            title: "altnet beside other network stacks of Linux")
    }

    private func draw(_ question: String, _ figure: Figure, _ x: Double, _ y: Double, on drawing: inout SVGDrawing) {
        drawing.text(question, x, y + 16, .init(size: 14, isBold: true))
        let bars = StackName.allCases.map { (stack: $0, summary: runs.summary(figure, of: $0, in: time)) }
            .filter { $0.stack.spare == nil || $0.summary != nil }
        let longest = bars.compactMap(\.summary).flatMap { [$0.median, $0.most] }.filter(\.isFinite).max() ?? 1
        let names = x + Self.nameWidth
        // Leave space for the number after the longest bar.
        let scale = (Self.panelWidth - Self.nameWidth - 110) / max(longest, .leastNormalMagnitude)
        for (index, (stack, summary)) in bars.enumerated() {
            let top = y + 26 + Double(index) * (Self.barHeight + Self.barGap)
            let isOwn = stack.isAltnet
            let middle = top + Self.barHeight - 3
            drawing.text(stack.rawValue, names - 8, middle, .init(size: 12, isBold: isOwn, anchor: .end))
            guard let summary else {
                drawing.text("not measured", names + 4, middle, .init(size: 12, colour: Palette.faintInk))
                continue
            }
            let tip = "\(stack.title): \(summary.text(figure.unit)) \(figure.unit.rawValue), \(summary.runs) runs"
            guard summary.median.isFinite else {
                drawing.box(
                    x: names, y: top, width: Self.panelWidth - Self.nameWidth, height: Self.barHeight,
                    colour: Palette.outage,
                    radius: 2, opacity: 0.15, tip: tip)
                let text = summary.least.isFinite ? "mostly never" : "never (waited \(Int(summary.waited ?? 0)) s)"
                drawing.text(text, names + 6, middle, .init(size: 12, colour: Palette.outage))
                continue
            }
            drawing.box(
                x: names, y: top, width: max(summary.median * scale, 1.5), height: Self.barHeight,
                colour: isOwn ? Palette.paint(0).colour : Palette.threshold, radius: 2, tip: tip)
            let end = drawSpread(summary, from: names, scale: scale, top: top, on: &drawing)
            drawing.text(
                "\(Summary.text(summary.median, figure.unit)) \(figure.unit.rawValue)", end + 6, middle,
                .init(size: 12, isBold: isOwn))
        }
    }

    /// Draws a line from minimum to maximum.
    /// - Returns: right end of line and bar.
    private func drawSpread(
        _ summary: Summary, from x: Double, scale: Double, top: Double, on drawing: inout SVGDrawing
    ) -> Double {
        let most = summary.most.isFinite ? summary.most : summary.median
        let (from, to) = (x + summary.least * scale, x + most * scale)
        if to - from > 2 {
            let y = top + Self.barHeight / 2
            drawing.line(from, y, to, y, .init(colour: Palette.ink, width: 1.2))
        }
        return max(to, x + summary.median * scale)
    }
}
