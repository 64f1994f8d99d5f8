import Glibc

/// Animation of a story's 20 s around the power cut: two access points, the device, its traffic and its decisions.
///
/// Plays in real time and repeats. Where motion is unwanted (`prefers-reduced-motion`) or not supported, it is a still
/// picture of the last moment.
package struct FailoverAnimation {
    private let story: DeviceStory
    private let home: (index: Int, network: DeviceStory.Network)
    private let backup: (index: Int, network: DeviceStory.Network)
    private let cut: Duration
    /// The first reply through the backup.
    private let reply: Duration
    private let window: Range<Duration>

    /// - Returns: nil if no network in use loses its power, or no other takes over.
    package init?(_ story: DeviceStory) {
        let networks = Array(story.networks.enumerated())
        guard let cut = story.cut, let reply = story.gaps.first(where: { $0.upperBound > cut })?.upperBound,
            let home = networks.first(where: { $0.element.stays.contains { $0.contains(cut) } }),
            let backup = networks.first(where: { $0.element.stays.contains { $0.lowerBound > cut } })
        else { return nil }
        (self.story, self.cut, self.reply) = (story, cut, reply)
        self.home = (home.offset, home.element)
        self.backup = (backup.offset, backup.element)
        let start = max(.zero, cut - .seconds(7))
        window = start..<start + .seconds(20)
    }

    package static let size = (width: 800.0, height: 404.0)
    private static let strip = 64.0...776.0
    private static let device = (x: 400.0, y: 166.0)

    package var svg: String {
        var (drawing, visibility) = (SVGDrawing(), Visibility(window))
        let title = "\(home.network.name)’s router loses its power."
        let outcome =
            "\((reply - cut).inSeconds.fixed(1)) s later the device is online again, through \(backup.network.name)."
        let heading = SVGDrawing.Lettering(size: 20, isBold: true)
        drawing.group(visibility.shown([window.lowerBound..<cut])) {
            $0.text(heading.fitted("A device is online through \(home.network.name).", to: 752), 24, 38, heading)
        }
        drawing.group(visibility.shown([cut..<window.upperBound])) {
            $0.text(heading.fitted(title, to: 752), 24, 38, heading)
        }
        drawing.group(visibility.shown([reply..<window.upperBound])) {
            $0.text(heading.fitted(outcome, to: 752), 24, 66, heading)
        }
        draw(home.network, home.index, x: 130, &visibility, on: &drawing)
        draw(backup.network, backup.index, x: 670, &visibility, on: &drawing)
        drawDevice(&visibility, on: &drawing)
        drawStrip(on: &drawing)
        drawDecisions(&visibility, on: &drawing)
        drawing.text(
            "Recorded from the real programs on simulated radio.", Self.strip.upperBound, Self.size.height - 15,
            .init(size: 12, colour: Palette.faintInk, anchor: .end))
        return drawing.document(
            width: Self.size.width, height: Self.size.height, title: "\(title) \(outcome)",
            about: "Animation of 20 s of a real run: two access points, the device, its pings and its decisions.",
            on: .page.styled(visibility.style))
    }

    private func draw(
        _ network: DeviceStory.Network, _ index: Int, x: Double, _ visibility: inout Visibility,
        on drawing: inout SVGDrawing
    ) {
        let y = Self.device.y
        let isLeft = x < Self.device.x
        let on = times(of: network) { $0 != nil }
        let isPowered = visibility.shown(on)
        let colour = Palette.paint(index).colour
        drawing.group(visibility.shown(times(of: network) { $0 == nil })) {
            Self.drawRouter(x, y, colour: Palette.happening, light: Palette.outage, on: &$0)
            $0.text(
                "no power", x, y - 48, .init(size: 14, colour: Palette.outage, isBold: true, anchor: .middle))
        }
        drawing.group(isPowered) { drawing in
            Self.drawRouter(x, y, colour: colour, light: "#7ee787", on: &drawing)
            for wave in 1...3 {
                drawing.group("wave wave\(wave)") {
                    Self.drawWave(x, y - 40, radius: Double(wave) * 9, colour, on: &$0)
                }
            }
        }
        let name = SVGDrawing.Lettering(
            size: 15, colour: Palette.nameColour(index), isBold: true, anchor: .middle)
        drawing.text(name.fitted(network.name, to: 200), x, y + 42, name)
        for level in Set(network.levels.compactMap(\.level)) {
            let times = times(of: network) { $0 == level }
            guard !times.isEmpty else { continue }
            drawing.group(visibility.shown(times)) {
                $0.text(
                    "signal \(level < 0 ? "−" : "")\(abs(level)) dBm", x, y + 61,
                    .init(size: 12.5, colour: Palette.faintInk, anchor: .middle))
            }
        }
        let answered = network.stays.flatMap { stay in
            story.gaps.reduce([stay]) { parts, gap in
                parts.flatMap {
                    [
                        $0.lowerBound..<max($0.lowerBound, min($0.upperBound, gap.lowerBound)),
                        min(max($0.lowerBound, gap.upperBound), $0.upperBound)..<$0.upperBound,
                    ]
                }
            }
        }.filter { !$0.isEmpty }
        let edge = isLeft ? (from: Self.device.x - 52, to: x + 56) : (from: Self.device.x + 52, to: x - 56)
        drawing.group(visibility.shown(answered)) { drawing in
            drawing.line(edge.from, y, edge.to, y, .init(colour: colour, width: 18, opacity: 0.14))
            for (name, shift) in [("sent", -4.0), ("received", 4.0)] {
                drawing.group(name) {
                    let ends = [(x: edge.from, y: y + shift), (x: edge.to, y: y + shift)]
                    $0.path([ends], .init(colour: colour, width: 5, dashes: "0.1 16"))
                }
            }
        }
    }

    private static func drawRouter(
        _ x: Double, _ y: Double, colour: String, light: String, on drawing: inout SVGDrawing
    ) {
        for side in [-1.0, 1] {
            drawing.line(x + side * 34, y - 16, x + side * 40, y - 44, .init(colour: colour, width: 5))
        }
        drawing.box(x: x - 50, y: y - 18, width: 100, height: 38, colour: colour, radius: 8)
        drawing.circle(x - 34, y + 1, radius: 4.5, colour: light)
        for slot in 0..<3 {
            drawing.box(
                x: x + 2 + Double(slot) * 13, y: y - 4, width: 8, height: 10, colour: Palette.paper, radius: 1,
                opacity: 0.7)
        }
    }

    private static func drawWave(
        _ x: Double, _ y: Double, radius: Double, _ colour: String, on drawing: inout SVGDrawing
    ) {
        let points = stride(from: -45.0, through: 45, by: 9).map { degrees in
            let tilt = degrees * .pi / 180
            return (x: x + radius * sin(tilt), y: y - radius * cos(tilt))
        }
        drawing.path([points], .init(colour: colour, width: 2.5))
    }

    private func drawDevice(_ visibility: inout Visibility, on drawing: inout SVGDrawing) {
        let (x, y) = Self.device
        drawing.box(x: x - 46, y: y - 34, width: 92, height: 68, colour: Palette.ink, radius: 10)
        drawing.box(x: x - 36, y: y - 24, width: 72, height: 48, colour: Palette.paper, radius: 5, opacity: 0.12)
        drawing.text("device", x, y + 4, .init(size: 13, colour: Palette.paper, anchor: .middle))
        let state = SVGDrawing.Lettering(size: 14, isBold: true, anchor: .middle)
        for (text, colour, times) in [
            ("online", "#007556", [window.lowerBound..<cut, reply..<window.upperBound]),
            ("no network", Palette.outage, [cut..<reply]),
        ] {
            var lettering = state
            lettering.colour = colour
            drawing.group(visibility.shown(times)) { $0.text(text, x, y + 56, lettering) }
        }
    }

    private func x(_ time: Duration) -> Double {
        let share = ((time - window.lowerBound) / (window.upperBound - window.lowerBound)).clamped(to: 0...1)
        return Self.strip.lowerBound + share * (Self.strip.upperBound - Self.strip.lowerBound)
    }

    /// Draws when pings were answered, by network.
    private func drawStrip(on drawing: inout SVGDrawing) {
        let (top, height) = (266.0, 20.0)
        let label = SVGDrawing.Lettering(size: 12, colour: Palette.faintInk, anchor: .end)
        drawing.text("traffic", Self.strip.lowerBound - 8, top + 14, label)
        for (index, network) in [home, backup] {
            for stay in network.stays.map({ $0.clamped(to: window) }) where !stay.isEmpty {
                drawing.box(
                    x: x(stay.lowerBound), y: top, width: x(stay.upperBound) - x(stay.lowerBound), height: height,
                    colour: Palette.paint(index).colour)
            }
        }
        for gap in story.gaps.map({ $0.clamped(to: window) }) where !gap.isEmpty {
            let width = max(2, x(gap.upperBound) - x(gap.lowerBound))
            drawing.box(x: x(gap.lowerBound), y: top, width: width, height: height, colour: Palette.paper)
            drawing.box(
                x: x(gap.lowerBound), y: top - 4, width: width, height: height + 8, colour: Palette.outage)
        }
        var second = (window.lowerBound - cut).inSeconds.rounded(.up)
        while second <= (window.upperBound - cut).inSeconds {
            if Int(second) % 5 == 0 {
                let text = second == 0 ? "power cut" : "\(second > 0 ? "+" : "−")\(abs(second).fixed(0)) s"
                drawing.text(
                    text, x(cut + .seconds(second)), top + height + 19,
                    .init(
                        size: 12, colour: second == 0 ? Palette.outage : Palette.faintInk, isBold: second == 0,
                        anchor: .middle))
            }
            second += 1
        }
        // Hide the time to come.
        drawing.group("future") {
            $0.box(
                x: Self.strip.lowerBound, y: top - 4, width: Self.strip.upperBound - Self.strip.lowerBound + 2,
                height: height + 8, colour: Palette.paper, opacity: 0.8)
        }
    }

    private func drawDecisions(_ visibility: inout Visibility, on drawing: inout SVGDrawing) {
        let inside = story.decisions.filter { $0.at >= cut && $0.at < window.upperBound }.prefix(3)
        let lines = inside.map { ($0.at, $0.text, false) } + [(reply, "the first ping is answered", true)]
        let sorted = lines.sorted { $0.0 < $1.0 }
        for (row, (at, text, isBold)) in sorted.enumerated() {
            let y = 332 + Double(row) * 19
            drawing.group(visibility.shown([at..<window.upperBound])) {
                $0.text(
                    "+\((at - cut).inSeconds.fixed(2)) s", Self.strip.lowerBound + 36, y,
                    .init(size: 13, colour: Palette.faintInk, anchor: .end))
                let lettering = SVGDrawing.Lettering(size: 13, isBold: isBold)
                $0.text(lettering.fitted(text, to: 650), Self.strip.lowerBound + 48, y, lettering)
            }
        }
    }

    /// Returns when the network's level matches, within the window.
    private func times(of network: DeviceStory.Network, where matches: (Int?) -> Bool) -> [Range<Duration>] {
        let changes = network.levels.map(\.at) + [window.upperBound]
        return zip(network.levels, changes.dropFirst()).filter { matches($0.0.level) && $0.0.at < $0.1 }
            .map { ($0.0.at..<$0.1).clamped(to: window) }.filter { !$0.isEmpty }
    }
}

/// Style sheet of elements that are visible for a part of the animation.
private struct Visibility {
    private let window: Range<Duration>
    private var rules: [String] = []
    private var motions: [String] = []

    init(_ window: Range<Duration>) { self.window = window }

    /// Returns the class of elements that are visible at these times. Without motion, the end counts.
    mutating func shown(_ times: [Range<Duration>]) -> String {
        let name = "at\(rules.count)"
        let times = times.map { $0.clamped(to: window) }.filter { !$0.isEmpty }
        let isLast = times.contains { $0.upperBound == window.upperBound }
        var frames = [Double: Int]()
        for time in times {
            frames[share(time.lowerBound)] = 1
            if time.upperBound < window.upperBound, frames[share(time.upperBound)] == nil {
                frames[share(time.upperBound)] = 0
            }
        }
        if frames[0] == nil { frames[0] = 0 }
        let list = frames.sorted { $0.key < $1.key }.map { "\($0.key.fixed(2))%{opacity:\($0.value)}" }
        rules.append(".\(name){opacity:\(isLast ? 1 : 0)}")
        motions.append(".\(name){animation:\(name) \(seconds)s step-end infinite}@keyframes \(name){\(list.joined())}")
        return name
    }

    private var seconds: Int { Int((window.upperBound - window.lowerBound).inSeconds) }

    private func share(_ time: Duration) -> Double {
        (time - window.lowerBound) / (window.upperBound - window.lowerBound) * 100
    }

    var style: String {
        """
        .future{opacity:0}\(rules.joined())
        @media (prefers-reduced-motion:no-preference){
        \(motions.joined(separator: "\n"))
        .sent{animation:sent .9s linear infinite}@keyframes sent{to{stroke-dashoffset:-48.3px}}
        .received{animation:received .9s linear infinite}@keyframes received{to{stroke-dashoffset:48.3px}}
        .wave{animation:wave 1.5s linear infinite}@keyframes wave{0%{opacity:1}70%{opacity:.2}}
        .wave2{animation-delay:.25s}.wave3{animation-delay:.5s}
        .future{transform-origin:\(FailoverAnimation.size.width - 24)px 0;opacity:1;
        animation:future \(seconds)s linear infinite}@keyframes future{to{transform:scaleX(0)}}
        }
        """
    }
}
