import AgentModel

/// SVG of one pass of a scenario over time: signals, access points in use, outages, events and decisions.
public struct TimelinePicture {
    let timeline: Timeline
    let scenario: Scenario
    let result: RunResult
    let lines: Lines

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
        return drawing.document(
            width: Self.width, height: height, title: scenario.title, about: scenario.about)
    }

    static let width = 880.0
    static let margin = 24.0
    /// Horizontal range of the time axis.
    static let plot = 76.0...626.0
    /// Horizontal range of the labels right of the time axis.
    static let labels = 636.0...868.0
    static let chartHeight = 300.0
    /// Maximum number of rows with labels of events.
    static let flagRows = 7
    /// Vertical distance of these rows.
    static let rowHeight = 17.0

    static let plainText = SVGDrawing.Lettering(size: 13)
    static let faintText = SVGDrawing.Lettering(size: 12.5, colour: Palette.faintInk)

    func x(_ time: Duration) -> Double {
        let share = (time / max(timeline.duration, .milliseconds(1))).clamped(to: 0...1)
        return Self.plot.lowerBound + share * (Self.plot.upperBound - Self.plot.lowerBound)
    }

    /// Returns the left edge and the width of a time range. The width is at least `minimum`.
    func extent(_ time: Range<Duration>, minimum: Double) -> (x: Double, width: Double) {
        let start = x(time.lowerBound)
        return (start, max(minimum, x(time.upperBound) - start))
    }
}

// MARK: - Head

extension TimelinePicture {
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
        y -= 14
        for line in outcome.wrapped(summary, to: room).prefix(3) {
            y += 18
            drawing.text(line, Self.margin, y, outcome)
        }
        y -= 4
        if !omissions.isEmpty {
            y += 18
            let text = "Left out: " + omissions.joined(separator: "; ") + "."
            drawing.text(Self.faintText.fitted(text, to: room), Self.margin, y + 4, Self.faintText)
        }
        return y + 32 + Double(flagRowsInUse) * Self.rowHeight
    }

    private var omissions: [String] {
        lines.omissions + (unlabelled > 0 ? [counted(unlabelled, "label", "labels") + " of events"] : [])
    }

    /// Text about the outage by lost frames on bad links, which is not in `timeline.outages`; empty if below 1 s.
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
        let lost = result.outage > .zero ? "\(result.outage.inWords) of outage" : "no outage"
        return "\(result.policy): \(lost) in \(result.duration.inWords)\(weakness); "
            + moves.compactMap(\.self).joined(separator: ", ")
    }
}

extension TimelinePicture {
    func drawAxis(on drawing: inout SVGDrawing, from top: Double, to bottom: Double) {
        let label = SVGDrawing.Lettering(size: 12.5, colour: Palette.faintInk, anchor: .middle)
        let axis = TimeAxis(timeline.duration)
        for mark in axis.marks {
            drawing.line(x(mark), top, x(mark), bottom, .init(colour: Palette.rule, width: 1))
            drawing.text(axis.label(mark), x(mark), bottom + 18, label)
        }
        drawing.text(
            axis.step < .seconds(60) ? "time, h:mm:ss" : "time, h:mm", Self.labels.lowerBound + 24, bottom + 18,
            Self.faintText)
    }
}

/// Marks of a time axis: at most ten or so, at round intervals.
struct TimeAxis {
    let step: Duration
    let marks: [Duration]

    init(_ duration: Duration) {
        let seconds: [Int64] = [
            1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
        ]
        let fitting = seconds.first { duration <= .seconds($0) * 10 }
        // Longer intervals are multiples of a week.
        let weeks = duration.components.seconds / (10 * 604_800) + 1
        step = .seconds(fitting ?? 604_800 * weeks)
        marks = Array(sequence(first: .zero) { [step] in $0 + step }.prefix { $0 <= max(duration, .zero) })
    }

    func label(_ mark: Duration) -> String { step < .seconds(60) ? mark.clock : mark.hoursAndMinutes }
}

extension TimelinePicture {
    struct Lane {
        let kind: Kind
        let top: Double
        let height: Double

        enum Kind {
            case stays, outages, scans, decisions
        }

        var bottom: Double { top + height }
    }

    func lanes(under top: Double) -> [Lane] {
        let heights: [(Lane.Kind, Double)] =
            [(.stays, 26), (.outages, 14), (.scans, 10)] + (reasons.listed.isEmpty ? [] : [(.decisions, 26)])
        var y = top
        return heights.map { kind, height in
            defer { y += height + 8 }
            return Lane(kind: kind, top: y, height: height)
        }
    }

    func draw(_ lane: Lane, on drawing: inout SVGDrawing) {
        let name: String
        let total: String
        switch lane.kind {
        case .stays:
            name = "in use"
            total = counted(timeline.stays.count, "stay", "stays")
            drawBackground(of: lane, on: &drawing)
            for stay in timeline.stays { draw(stay, in: lane, on: &drawing) }
        case .outages:
            name = "outage"
            total = timeline.outages.isEmpty ? "none" : "\(timeline.outages.count), \(outageTime.inWords) in all"
            drawBackground(of: lane, on: &drawing)
            draw(timeline.outages, in: lane, colour: Palette.outage, tip: "outage", minimum: 2.5, on: &drawing)
        case .scans:
            name = "scans"
            total = timeline.scans.isEmpty ? "none" : "\(timeline.scans.count)"
            drawBackground(of: lane, on: &drawing)
            draw(timeline.scans, in: lane, colour: Palette.scan, tip: "scan", minimum: 1, on: &drawing)
        case .decisions:
            name = "decisions"
            total = "reasons below"
            drawMarkers(in: lane, on: &drawing)
        }
        let y = lane.top + lane.height / 2 + 4
        drawing.text(name, Self.plot.lowerBound - 8, y, .init(size: 12.5, colour: Palette.faintInk, anchor: .end))
        drawing.text(total, Self.labels.lowerBound + 24, y, Self.faintText)
    }

    private func drawBackground(of lane: Lane, on drawing: inout SVGDrawing) {
        drawing.box(
            x: Self.plot.lowerBound, y: lane.top, width: Self.plot.upperBound - Self.plot.lowerBound,
            height: lane.height, colour: Palette.lane)
    }

    private func draw(_ stay: Timeline.Stay, in lane: Lane, on drawing: inout SVGDrawing) {
        guard timeline.signals.indices.contains(stay.accessPoint) else { return }
        let signal = timeline.signals[stay.accessPoint]
        let paint = lines.line(of: stay.accessPoint)?.paint
        let (x, width) = extent(stay.time, minimum: 1)
        drawing.box(
            x: x, y: lane.top, width: width, height: lane.height, colour: paint?.colour ?? Palette.faintInk,
            tip: "\(signal.ssid) (\(signal.accessPoint)) \(Self.span(stay.time))")
        var lettering = SVGDrawing.Lettering(size: 12.5, colour: paint?.text ?? Palette.paper, isBold: true)
        lettering.anchor = .middle
        let text = lettering.fitted(signal.ssid.description, to: width - 8)
        guard text.count > 3 else { return }
        drawing.text(text, x + width / 2, lane.top + lane.height / 2 + 4, lettering)
    }

    private func draw(
        _ times: [Range<Duration>], in lane: Lane, colour: String, tip: String, minimum: Double,
        on drawing: inout SVGDrawing
    ) {
        for time in times {
            let (x, width) = extent(time, minimum: minimum)
            drawing.box(
                x: x, y: lane.top, width: width, height: lane.height, colour: colour, tip: "\(tip) \(Self.span(time))")
        }
    }

    private func drawMarkers(in lane: Lane, on drawing: inout SVGDrawing) {
        let moments = reasons.listed.map { x(time(of: $0)) }
        let room = (Self.plot.lowerBound + 9)...(Self.plot.upperBound - 9)
        let places = Spacing.spread(moments, gap: 20, within: room)
        let y = lane.bottom - 9
        let poles = zip(moments, places).map { [($0, lane.top - 6), ($0, lane.top), ($1, y)] }
        drawing.path(poles, .init(colour: Palette.ink, width: 1))
        for (index, place) in places.enumerated() { drawMarker(index + 1, place, y, on: &drawing) }
    }

    private static func span(_ time: Range<Duration>) -> String {
        "from \(time.lowerBound.clock) to \(time.upperBound.clock), \((time.upperBound - time.lowerBound).inWords)"
    }
}
