import AgentModel
import Failover

extension TimelinePicture {
    func drawChart(on drawing: inout SVGDrawing, top: Double) {
        let scale = SignalScale(of: lines.shown, settings: scenario.settings, top: top, height: Self.chartHeight)
        for outage in timeline.outages {
            let (x, width) = extent(outage, minimum: 1)
            drawing.box(x: x, y: top, width: width, height: Self.chartHeight, colour: Palette.outage, opacity: 0.12)
        }
        drawLevels(of: scale, on: &drawing)
        for line in lines.shown {
            let stroke = SVGDrawing.Stroke(
                colour: line.paint.colour, width: 1.4, dashes: line.paint.dashes, opacity: 0.75)
            drawing.path(runs(of: line.signal, during: .zero..<timeline.duration, scale), stroke)
        }
        for line in lines.shown {
            let stays = timeline.stays.filter { $0.accessPoint == line.accessPoint }
            let runs = stays.flatMap { self.runs(of: line.signal, during: $0.time, scale) }
            drawing.path(runs, SVGDrawing.Stroke(colour: Palette.paper, width: 6))
            drawing.path(runs, SVGDrawing.Stroke(colour: line.paint.colour, width: 3.4))
        }
        drawThresholdNames(of: scale, on: &drawing)
        drawNames(of: scale, on: &drawing)
    }

    /// Returns the points of the signal in this time. Each period in which the access point is on gives one run.
    private func runs(
        of signal: Timeline.Signal, during time: Range<Duration>, _ scale: SignalScale
    ) -> [[(x: Double, y: Double)]] {
        guard !signal.samples.isEmpty, !time.isEmpty else { return [] }
        let steps = Double(signal.samples.count)
        let duration = max(timeline.duration, .milliseconds(1))
        let (first, last) = (
            (time.lowerBound / duration).clamped(to: 0...1) * steps,
            (time.upperBound / duration).clamped(to: 0...1) * steps
        )
        let inner = (Int(first) + 1..<max(Int(first) + 1, Int(last.rounded(.up)))).map(Double.init)
        var runs: [[(x: Double, y: Double)]] = [[]]
        for place in [first] + inner + [last] {
            if let level = signal.level(at: place) {
                runs[runs.count - 1].append((x(duration * (place / steps)), scale.y(level)))
            } else if runs.last?.isEmpty == false {
                runs.append([])
            }
        }
        return runs
    }

    private func drawLevels(of scale: SignalScale, on drawing: inout SVGDrawing) {
        let label = SVGDrawing.Lettering(size: 12.5, colour: Palette.faintInk, anchor: .end)
        for level in stride(from: scale.range.lowerBound, through: scale.range.upperBound, by: 10) {
            let y = scale.y(Double(level))
            drawing.line(
                Self.plot.lowerBound, y, Self.plot.upperBound, y, .init(colour: Palette.rule, width: 1))
            let isTop = level == scale.range.upperBound
            drawing.text(Self.minus(level) + (isTop ? " dBm" : ""), Self.plot.lowerBound - 8, y + 4, label)
        }
        for threshold in scale.thresholds {
            let y = scale.y(Double(threshold.level))
            drawing.line(
                Self.plot.lowerBound, y, Self.plot.upperBound, y,
                .init(colour: Palette.threshold, width: 1, dashes: "5 4"))
        }
    }

    /// Draws the thresholds' names. The names of the two bands are side by side, because their levels are close.
    private func drawThresholdNames(of scale: SignalScale, on drawing: inout SVGDrawing) {
        let label = SVGDrawing.Lettering(size: 12.5, colour: Palette.faintInk, hasRim: true)
        for threshold in scale.thresholds {
            let x = Self.plot.lowerBound + (threshold.band == .twoPointFour ? 6 : 215)
            drawing.text(
                "\(threshold.name) on \(threshold.band.rawValue): \(Self.minus(threshold.level)) dBm", x,
                scale.y(Double(threshold.level)) - 4, label)
        }
    }

    /// Draws the networks' names at the ends of the lines, far enough apart to be readable.
    private func drawNames(of scale: SignalScale, on drawing: inout SVGDrawing) {
        let name = SVGDrawing.Lettering(size: 13, isBold: true)
        let detail = SVGDrawing.Lettering(size: 12.5, colour: Palette.faintInk)
        let ends = lines.shown.map { line in
            let last = line.signal.samples.indices.last { line.signal.sample($0) != nil }
            return (line: line, y: scale.y(last.flatMap(line.signal.sample) ?? Double(scale.range.lowerBound)))
        }.sorted { $0.y < $1.y }
        let room = (scale.y(Double(scale.range.upperBound)) + 6)...(scale.y(Double(scale.range.lowerBound)) - 8)
        for (end, y) in zip(ends, Spacing.spread(ends.map(\.y), gap: 32, within: room)) {
            let paint = end.line.paint
            drawing.path(
                [[(Self.plot.upperBound, end.y), (Self.labels.lowerBound, y)]],
                .init(colour: paint.colour, width: 1, opacity: 0.6))
            drawing.path(
                [[(Self.labels.lowerBound, y), (Self.labels.lowerBound + 18, y)]],
                .init(colour: paint.colour, width: 3.4, dashes: paint.dashes))
            let x = Self.labels.lowerBound + 24
            let room = Self.labels.upperBound - x
            drawing.text(name.fitted(end.line.signal.ssid.description, to: room), x, y + 2, name)
            drawing.text(detail.fitted(Self.detail(of: end.line.signal), to: room), x, y + 15, detail)
        }
    }

    private static func detail(of signal: Timeline.Signal) -> String {
        let channel = signal.frequency.channel.map { "channel \($0)" } ?? "\(signal.frequency)"
        let isOff = signal.finiteSamples.isEmpty
        return "\(signal.accessPoint), \(isOff ? "never heard" : "\(channel), \(signal.frequency.band.rawValue)")"
    }

    private static func minus(_ level: Int) -> String { level < 0 ? "−\(level.magnitude)" : "\(level)" }
}

private struct SignalScale {
    struct Threshold {
        let name: String
        let band: Band
        let level: Int
    }

    /// Range of the scale in dBm, multiples of ten.
    let range: ClosedRange<Int>
    let thresholds: [Threshold]
    private let top: Double
    private let height: Double

    init(of lines: [TimelinePicture.Lines.Line], settings: PolicySettings, top: Double, height: Double) {
        let bands = Set(lines.filter { !$0.signal.finiteSamples.isEmpty }.map(\.signal.frequency.band))
        let fiveIsSeen = bands.contains { $0 != .twoPointFour }
        let twoPointFourIsSeen = bands.contains(.twoPointFour)
        thresholds =
            (twoPointFourIsSeen || !fiveIsSeen ? Self.thresholds(.twoPointFour, settings.twoPointFour) : [])
            + (fiveIsSeen ? Self.thresholds(.five, settings.five) : [])
        let levels = lines.flatMap(\.signal.finiteSamples) + thresholds.map { Double($0.level) }
        let possible = -110.0...0.0
        let low = ((levels.min() ?? -90) - 3).clamped(to: possible)
        let high = (levels.max() ?? -40).clamped(to: possible)
        range = Int((low / 10).rounded(.down)) * 10...max(Int((high / 10).rounded(.up)) * 10, -40)
        (self.top, self.height) = (top, height)
    }

    func y(_ level: Double) -> Double {
        let (low, high) = (Double(range.lowerBound), Double(range.upperBound))
        return top + (high - level.clamped(to: low...high)) / (high - low) * height
    }

    private static func thresholds(_ band: Band, _ values: PolicySettings.Thresholds) -> [Threshold] {
        [
            Threshold(name: "weak", band: band, level: values.weak),
            Threshold(name: "critical", band: band, level: values.critical),
        ]
    }
}

extension TimelinePicture {
    /// Access points that have a line: those in use or in known networks, up to `limit`.
    struct Lines {
        struct Line {
            let accessPoint: Int
            let signal: Timeline.Signal
            let paint: Palette.Paint
        }

        let shown: [Line]
        let omissions: [String]

        private static let limit = 12

        init(of timeline: Timeline, in scenario: Scenario) {
            let signals = timeline.signals
            let known = Set(scenario.networks.map(\.ssid))
            let used = Set(timeline.stays.map(\.accessPoint))
            let candidates = signals.indices.filter { used.contains($0) || known.contains(signals[$0].ssid) }
            let strongest = candidates.sorted { signals[$0].peak > signals[$1].peak }
            let chosen = strongest.filter(used.contains) + strongest.filter { !used.contains($0) }
            shown = chosen.prefix(Self.limit).sorted().enumerated().map { index, accessPoint in
                Line(accessPoint: accessPoint, signal: signals[accessPoint], paint: Palette.paint(index))
            }
            omissions = Self.omissions(
                unknown: signals.count - candidates.count, known: max(0, candidates.count - Self.limit))
        }

        func line(of accessPoint: Int) -> Line? { shown.first { $0.accessPoint == accessPoint } }

        private static func omissions(unknown: Int, known: Int) -> [String] {
            [
                unknown > 0
                    ? counted(unknown, "access point", "access points") + " of networks that the device does not know"
                    : nil,
                known > 0
                    ? counted(known, "weaker access point", "weaker access points") + " of networks that it knows"
                    : nil,
            ].compactMap(\.self)
        }
    }
}

extension Timeline.Signal {
    fileprivate var peak: Double { finiteSamples.max() ?? -.infinity }

    var finiteSamples: [Double] { samples.compactMap(\.self).filter(\.isFinite) }

    /// Returns the interpolated signal in dBm; nil while the access point is off.
    /// - Parameter place: 0 for the first sample, 1 for the second and so on.
    func level(at place: Double) -> Double? {
        let index = Int(place.clamped(to: 0...Double(max(samples.count - 1, 0))))
        guard let here = sample(index) else { return nil }
        guard let next = sample(index + 1) else { return here }
        return here + (next - here) * (place - Double(index)).clamped(to: 0...1)
    }

    func sample(_ index: Int) -> Double? {
        guard samples.indices.contains(index), let sample = samples[index], sample.isFinite else { return nil }
        return sample
    }
}
