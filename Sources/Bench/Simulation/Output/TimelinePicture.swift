import AgentModel
import Failover

/// One pass of a scenario as a picture (SVG): the signals, where the device was, when it was nowhere, what happened and what
/// was decided, all over one axis of time.
public struct TimelinePicture {
    let timeline: Timeline
    let scenario: Scenario
    let result: RunResult
    let lines: Lines

    /// - Returns: nil if the run recorded no timeline.
    public init?(of result: RunResult, in scenario: Scenario) {
        guard let timeline = result.timeline else { return nil }
        self.timeline = timeline
        self.scenario = scenario
        self.result = result
        lines = Lines(of: timeline, in: scenario)
    }

    public var svg: String {
        var drawing = SVGDrawing()
        let chartTop = drawHead(on: &drawing)
        let lanes = lanes(under: chartTop + Self.chartHeight + 14)
        let bottom = lanes.last?.bottom ?? chartTop + Self.chartHeight
        drawAxis(on: &drawing, from: chartTop, to: bottom)
        drawHappenings(on: &drawing, above: chartTop, to: bottom)
        drawChart(on: &drawing, top: chartTop)
        for lane in lanes { draw(lane, on: &drawing) }
        let height = drawReasons(on: &drawing, under: bottom + 52)
        return drawing.document(width: Self.width, height: height, title: scenario.title)
    }

    static let width = 1200.0
    static let margin = 28.0
    /// Where time runs, and where labels stand beside it.
    static let plot = 84.0...944.0
    static let labels = 956.0...1172.0
    static let chartHeight = 300.0
    /// Rows for the labels of happenings, and how far they are apart.
    static let flagRows = 7
    static let rowHeight = 17.0

    static let plainText = SVGDrawing.Lettering(size: 13)
    static let faintText = SVGDrawing.Lettering(size: 12, colour: Palette.faintInk)

    func x(_ time: Duration) -> Double {
        let share = (time / max(timeline.duration, .milliseconds(1))).clamped(to: 0...1)
        return Self.plot.lowerBound + share * (Self.plot.upperBound - Self.plot.lowerBound)
    }

    /// The left and right edge of a span of time, which is seen however short it is.
    func extent(_ time: Range<Duration>, minimum: Double) -> (x: Double, width: Double) {
        let start = x(time.lowerBound)
        return (start, max(minimum, x(time.upperBound) - start))
    }
}

// MARK: - Head

extension TimelinePicture {
    /// - Returns: Where the chart begins.
    private func drawHead(on drawing: inout SVGDrawing) -> Double {
        let room = Self.width - 2 * Self.margin
        let heading = SVGDrawing.Lettering(size: 22, isBold: true)
        drawing.text(heading.fitted(scenario.title, to: room), Self.margin, 42, heading)
        var y = 68.0
        for line in Self.plainText.wrapped(scenario.about, to: room).prefix(6) {
            drawing.text(line, Self.margin, y, Self.plainText)
            y += 18
        }
        let outcome = SVGDrawing.Lettering(size: 13, isBold: true)
        drawing.text(outcome.fitted(summary, to: room), Self.margin, y + 4, outcome)
        if !omissions.isEmpty {
            y += 18
            let text = "Left out: " + omissions.joined(separator: "; ") + "."
            drawing.text(Self.faintText.fitted(text, to: room), Self.margin, y + 4, Self.faintText)
        }
        return y + 32 + Double(flagRowsInUse) * Self.rowHeight
    }

    private var omissions: [String] {
        lines.omissions + (unlabelled > 0 ? [counted(unlabelled, "label", "labels") + " of what happened"] : [])
    }

    /// Lost use is more than outages where a link was bad.
    private var weakness: String {
        let rest = result.outage - outageTime
        return rest < .seconds(1) ? "" : ", of which \(rest.inWords) by frames lost on bad links"
    }

    var outageTime: Duration { timeline.outages.reduce(.zero) { $0 + ($1.upperBound - $1.lowerBound) } }

    private var summary: String {
        let moves = [
            counted(result.switches, "switch", "switches"),
            result.returns > 0 ? "\(result.returns) of them back to the preferred network" : nil,
            result.roams > 0
                ? counted(result.roams, "change", "changes") + " of access point within a network" : nil,
        ]
        let lost = result.outage > .zero ? "\(result.outage.inWords) of use lost" : "no moment of use lost"
        return "\(result.policy): \(lost) in \(result.duration.inWords)\(weakness); "
            + moves.compactMap(\.self).joined(separator: ", ")
    }
}
