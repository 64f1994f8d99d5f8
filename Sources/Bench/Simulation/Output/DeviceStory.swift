/// Recording of a device's networks over time, for a chart and an animation.
package struct DeviceStory: Sendable {
    package struct Network: Sendable {
        package let name: String
        /// Signals in dBm, each until the next one; nil while the access point is off. In order of time.
        package var levels: [(at: Duration, level: Int?)] = []
        /// Times during which the device was online in this network, in order.
        package var stays: [Range<Duration>] = []

        func level(at time: Duration) -> Int? { levels.last { $0.at <= time }?.level }
    }

    /// An event that the chart explains.
    package struct Moment: Sendable {
        package let at: Duration
        package let text: String
        package let note: String
        /// Longest time without a reply to a ping at this event; nil if the event does not interrupt the traffic.
        package let gap: Duration?

        package init(at: Duration, _ text: String, _ note: String, gap: Duration? = nil) {
            (self.at, self.text, self.note, self.gap) = (at, text, note, gap)
        }
    }

    package var networks: [Network] = []
    package var moments: [Moment] = []
    /// The agent's decisions in words.
    package var decisions: [(at: Duration, text: String)] = []
    /// Times without replies to pings.
    package var gaps: [Range<Duration>] = []
    package var duration = Duration.zero
    /// The time at which the network in use loses its power.
    package var cut: Duration?

    package init() {}

    /// Records that the signal of a network changes; nil when it loses its power.
    package mutating func record(_ name: String, level: Int?, at time: Duration) {
        networks[index(of: name)].levels.append((time, level))
    }

    /// Records the network in which the device is online; nil for none.
    package mutating func record(online name: String?, at time: Duration) {
        let current = name.map { index(of: $0) }
        for index in networks.indices {
            let last = networks[index].stays.count - 1
            let isOpen = last >= 0 && networks[index].stays[last].upperBound == .seconds(Int64.max)
            if isOpen, index != current {
                networks[index].stays[last] = networks[index].stays[last].lowerBound..<time
            } else if !isOpen, index == current {
                networks[index].stays.append(time..<(.seconds(Int64.max)))
            }
        }
    }

    private mutating func index(of name: String) -> Int {
        if let index = networks.firstIndex(where: { $0.name == name }) { return index }
        networks.append(Network(name: name))
        return networks.count - 1
    }
}

/// Chart of signals over time, with the story's moments as numbered marks and a list of them.
package struct StoryChart {
    private let story: DeviceStory

    package init(_ story: DeviceStory) { self.story = story }

    package static let width = 800.0
    private static let plot = 76.0...684.0
    private static let levels = -95...(-40)
    private static let chart = 92.0...276.0
    private static let lane = 300.0
    private static let rowHeight = 27.0

    package var svg: String {
        var drawing = SVGDrawing()
        drawing.text("A device that stays online", 24, 36, .init(size: 21, isBold: true))
        drawing.text(
            "Signals of its networks in the demo. The thick line is the network in use.", 24, 58,
            .init(size: 13, colour: Palette.faintInk))
        drawAxes(on: &drawing)
        drawSignals(on: &drawing)
        drawLane(on: &drawing)
        drawMarks(on: &drawing)
        let bottom = drawRows(under: 382, on: &drawing)
        let about = story.moments.map { "\($0.at.inSeconds.fixed(0)) s: \($0.text), \($0.note)" }
        return drawing.document(
            width: Self.width, height: bottom, title: "A device that stays online",
            about: about.joined(separator: ". "))
    }

    private func x(_ time: Duration) -> Double {
        let share = (time / max(story.duration, .milliseconds(1))).clamped(to: 0...1)
        return Self.plot.lowerBound + share * (Self.plot.upperBound - Self.plot.lowerBound)
    }

    private func y(_ level: Int) -> Double {
        let share = Double(Self.levels.upperBound - level) / Double(Self.levels.upperBound - Self.levels.lowerBound)
        return Self.chart.lowerBound + share.clamped(to: 0...1) * (Self.chart.upperBound - Self.chart.lowerBound)
    }

    private func drawAxes(on drawing: inout SVGDrawing) {
        let label = SVGDrawing.Lettering(size: 12, colour: Palette.faintInk, anchor: .end)
        for (level, name) in [(-50, "strong"), (-70, "weak"), (-85, "too weak")] {
            drawing.line(
                Self.plot.lowerBound, y(level), Self.plot.upperBound, y(level), .init(colour: Palette.rule, width: 1))
            drawing.text(name, Self.plot.lowerBound - 8, y(level) - 3, label)
            drawing.text("−\(-level) dBm", Self.plot.lowerBound - 8, y(level) + 11, label)
        }
        let time = SVGDrawing.Lettering(size: 12, colour: Palette.faintInk, anchor: .middle)
        for second in stride(from: 0, through: Int(story.duration.inSeconds), by: 10) {
            let x = x(.seconds(second))
            drawing.line(x, Self.lane + 22, x, Self.lane + 27, .init(colour: Palette.threshold, width: 1))
            drawing.text("\(second) s", x, Self.lane + 42, time)
        }
    }

    private func drawSignals(on drawing: inout SVGDrawing) {
        for gap in story.gaps {
            drawing.box(
                x: x(gap.lowerBound) - 1, y: Self.chart.lowerBound,
                width: max(2, x(gap.upperBound) - x(gap.lowerBound)),
                height: Self.lane + 22 - Self.chart.lowerBound, colour: Palette.outage, opacity: 0.2)
        }
        for (index, network) in story.networks.enumerated() {
            let paint = Palette.paint(index)
            drawing.path(
                runs(of: network, during: .zero..<story.duration),
                .init(colour: paint.colour, width: 1.4, opacity: 0.8))
            drawing.path(
                network.stays.flatMap { runs(of: network, during: $0.clamped(to: .zero..<story.duration)) },
                .init(colour: paint.colour, width: 4))
        }
        let named = story.networks.enumerated().compactMap { index, network in
            network.levels.compactMap(\.level).last.map { (index, network.name, y($0) + 4) }
        }.sorted { $0.2 < $1.2 }
        let room = (Self.chart.lowerBound + 8)...Self.chart.upperBound
        let places = Spacing.spread(named.map(\.2), gap: 15, within: room)
        for (named, place) in zip(named, places) {
            let lettering = SVGDrawing.Lettering(
                size: 13, colour: Palette.nameColour(named.0), isBold: true)
            drawing.text(lettering.fitted(named.1, to: 100), Self.plot.upperBound + 8, place, lettering)
        }
    }

    private func runs(of network: DeviceStory.Network, during time: Range<Duration>) -> [[(x: Double, y: Double)]] {
        let changes = network.levels.filter { time.contains($0.at) && $0.at != time.lowerBound }
        var runs: [[(x: Double, y: Double)]] = [[]]
        var level = network.level(at: time.lowerBound)
        if let level { runs[0].append((x(time.lowerBound), y(level))) }
        for change in changes + [(at: time.upperBound, level: nil)] {
            if let level { runs[runs.count - 1].append((x(change.at), y(level))) }
            if let next = change.level {
                if level == nil { runs.append([]) }
                runs[runs.count - 1].append((x(change.at), y(next)))
            }
            level = change.level
        }
        return runs
    }

    /// Draws the network in use as a lane under the chart.
    private func drawLane(on drawing: inout SVGDrawing) {
        let label = SVGDrawing.Lettering(size: 12, colour: Palette.faintInk, anchor: .end)
        drawing.text("in use", Self.plot.lowerBound - 8, Self.lane + 15, label)
        for (index, network) in story.networks.enumerated() {
            let paint = Palette.paint(index)
            for stay in network.stays.map({ $0.clamped(to: .zero..<story.duration) }) {
                let (x, width) = (x(stay.lowerBound), x(stay.upperBound) - x(stay.lowerBound))
                drawing.box(x: x, y: Self.lane, width: max(1, width), height: 22, colour: paint.colour)
                let lettering = SVGDrawing.Lettering(size: 12, colour: paint.text, isBold: true, anchor: .middle)
                if lettering.width(of: network.name) < width - 6 {
                    drawing.text(network.name, x + width / 2, Self.lane + 15, lettering)
                }
            }
        }
    }

    private func drawMarks(on drawing: inout SVGDrawing) {
        let wanted = story.moments.map { x($0.at) }
        let places = Spacing.spread(wanted, gap: 22, within: Self.plot)
        let line = SVGDrawing.Stroke(colour: Palette.ink, width: 1, dashes: "2 3", opacity: 0.6)
        for (index, place) in places.enumerated() {
            let foot = [(x: place, y: 80.0), (x: wanted[index], y: 92.0), (x: wanted[index], y: Self.lane)]
            drawing.path([foot], line)
            Self.drawMark(index + 1, place, 78, on: &drawing)
        }
    }

    private static func drawMark(_ number: Int, _ x: Double, _ y: Double, on drawing: inout SVGDrawing) {
        drawing.circle(x, y, radius: 9, colour: Palette.ink)
        drawing.text("\(number)", x, y + 4, .init(size: 12, colour: Palette.paper, isBold: true, anchor: .middle))
    }

    /// - Returns: the height of the picture.
    private func drawRows(under top: Double, on drawing: inout SVGDrawing) -> Double {
        let faint = SVGDrawing.Lettering(size: 12.5, colour: Palette.faintInk)
        var right = faint
        right.anchor = .end
        drawing.text("without a network", Self.width - 24, top, right)
        for (index, moment) in story.moments.enumerated() {
            let y = top + Double(index + 1) * Self.rowHeight
            drawing.line(24, y - 18, Self.width - 24, y - 18, .init(colour: Palette.rule, width: 1))
            Self.drawMark(index + 1, 34, y - 4, on: &drawing)
            drawing.text("\(moment.at.inSeconds.fixed(1)) s", 96, y, right)
            let bold = SVGDrawing.Lettering(size: 13.5, isBold: true)
            drawing.text(bold.fitted(moment.text, to: 236), 112, y, bold)
            drawing.text(faint.fitted(moment.note, to: 350), 350, y, faint)
            guard let gap = moment.gap else { continue }
            drawing.text(
                "\(gap.inSeconds.fixed(2)) s", Self.width - 24, y,
                .init(size: 13.5, colour: Palette.outage, isBold: true, anchor: .end))
        }
        return top + Double(story.moments.count) * Self.rowHeight + 22
    }
}
