import AgentModel

extension TimelinePicture {
    /// A strip under the chart, over the same time.
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
        drawing.text(name, Self.plot.lowerBound - 8, y, .init(size: 12, colour: Palette.faintInk, anchor: .end))
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
        var lettering = SVGDrawing.Lettering(size: 12, colour: paint?.text ?? Palette.paper, isBold: true)
        lettering.anchor = .middle
        let text = lettering.fitted(signal.ssid.description, to: width - 8)
        // A name of which hardly anything is left says nothing.
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
        let places = Spacing.spread(moments, gap: 19, within: room)
        let y = lane.bottom - 9
        let poles = zip(moments, places).map { [($0, lane.top - 6), ($0, lane.top), ($1, y)] }
        drawing.path(poles, .init(colour: Palette.ink, width: 1))
        for (index, place) in places.enumerated() { drawMarker(index + 1, place, y, on: &drawing) }
    }

    private static func span(_ time: Range<Duration>) -> String {
        "from \(time.lowerBound.clock) to \(time.upperBound.clock), \((time.upperBound - time.lowerBound).inWords)"
    }
}
