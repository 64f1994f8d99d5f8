import Glibc
import Simulation

/// Plot of the medians of time without a network, from the table of the benchmark's page. All panels have one scale.
public struct BenchmarkPlot: Sendable {
    /// Seconds by figure and stack; infinite for an event that did not occur.
    private let seconds: [Figure: [StackName: Double]]

    /// - Parameter page: Markdown with the table that `BenchmarkPage` writes. Only its first table counts.
    public init(page: String) {
        let rows = page.split(separator: "\n").drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }.map { line in
            line.split(separator: "|").map { String($0.trimmingSpaces) }
        }
        let stacks = (rows.first ?? []).map { title in StackName.allCases.first { $0.title == title } }
        seconds = Self.panels.map(\.figure).reduce(into: [:]) { seconds, figure in
            guard let row = rows.first(where: { $0.first == "\(figure.title), \(figure.unit.rawValue)" }) else {
                return
            }
            seconds[figure] = zip(stacks, row).reduce(into: [:]) { values, cell in
                guard let stack = cell.0, let word = cell.1.split(separator: " ").first else { return }
                values[stack] = word == "never" ? .infinity : Double(word)
            }
        }
    }

    static let panels: [(figure: Figure, title: String, about: String)] = [
        (.hardLoss24CN, "The router loses its power", "until traffic flows through the backup"),
        (.weakSignal, "The signal fades", "until traffic flows through the strong backup"),
        (.deadInternet, "The internet fails behind a strong signal", "until traffic flows through the backup"),
        (.restart, "The router restarts", "from its return until traffic flows"),
        (.wrongPassword40, "The backup has another password, home is off", "from home's return after 40 s"),
        (.wrongPassword300, "The same, for longer", "from home's return after 300 s"),
        (.commandGap, "A user commands a switch", "longest gap in the traffic"),
        (.coldStart, "The device starts", "until traffic flows"),
    ]

    static let stacks: [(name: StackName, about: String)] = [
        (.altnet, "this project: drives wpa_supplicant, has a DHCP client of its own"),
        (.iwd, "Intel’s wireless daemon, with a DHCP client of its own"),
        (.supplicant, "with dhcpcd, as in Raspberry Pi OS until 2023"),
        (.networkd, "with wpa_supplicant, as on servers"),
        (.networkManager, "with wpa_supplicant, as on desktops and in Raspberry Pi OS"),
        (.connMan, "with wpa_supplicant, as on embedded devices"),
    ]

    private static let width = 800.0
    private static let left = 24.0
    private static let panelWidth = 364.0
    private static let panelGap = 24.0
    private static let nameWidth = 120.0
    private static let rowHeight = 18.0
    private static let panelHeight = 74 + Double(stacks.count) * rowHeight + 8
    private static let top = 84.0
    /// Ends of the scale in seconds.
    private static let scale = 0.05...150.0

    public var svg: String {
        let panels = Self.panels.filter { seconds[$0.figure]?.isEmpty == false }
        var drawing = SVGDrawing()
        let title = "How long a device is without a network"
        drawing.text(title, Self.left, 38, .init(size: 21, isBold: true))
        drawing.text(
            "Medians; shorter is better. Each step of the scale is ten times longer. Never: not within two minutes or more.",
            Self.left, 62, .init(size: 13, colour: Palette.faintInk))
        for (index, panel) in panels.enumerated() {
            let x = Self.left + Double(index % 2) * (Self.panelWidth + Self.panelGap)
            let y = Self.top + Double(index / 2) * Self.panelHeight
            draw(panel.title, panel.about, seconds[panel.figure] ?? [:], x, y, on: &drawing)
        }
        let bottom = Self.top + Double((panels.count + 1) / 2) * Self.panelHeight + 12
        for (row, stack) in Self.stacks.enumerated() {
            let y = bottom + Double(row) * 19
            drawing.text(
                stack.name.rawValue, Self.left + Self.nameWidth, y,
                .init(size: 12.5, isBold: true, anchor: .end))
            drawing.text(stack.about, Self.left + Self.nameWidth + 12, y, .init(size: 12.5, colour: Palette.faintInk))
        }
        return drawing.document(
            width: Self.width, height: bottom + Double(Self.stacks.count) * 19 + 6, title: title,
            about: "For each of \(panels.count) events a scale from 0.1 s to 100 s with altnet and five other stacks.")
    }

    private func draw(
        _ title: String, _ about: String, _ values: [StackName: Double], _ x: Double, _ y: Double,
        on drawing: inout SVGDrawing
    ) {
        drawing.text(title, x, y + 16, .init(size: 14.5, isBold: true))
        drawing.text(about, x, y + 34, .init(size: 12.5, colour: Palette.faintInk))
        let (start, end) = (x + Self.nameWidth + 10, x + Self.panelWidth - 50)
        let (rows, bottom) = (y + 46, y + 46 + Double(Self.stacks.count) * Self.rowHeight)
        func place(_ seconds: Double) -> Double {
            let (low, high) = (log10(Self.scale.lowerBound), log10(Self.scale.upperBound))
            return start + min(max((log10(seconds) - low) / (high - low), 0), 1) * (end - start)
        }
        for (tick, name) in [(0.1, "0.1 s"), (1, "1 s"), (10, "10 s"), (100, "100 s")] {
            drawing.line(place(tick), rows, place(tick), bottom, .init(colour: Palette.rule, width: 1))
            drawing.text(
                name, place(tick), bottom + 14, .init(size: 11.5, colour: Palette.faintInk, anchor: .middle))
        }
        for (index, stack) in Self.stacks.map(\.name).enumerated() {
            let middle = rows + (Double(index) + 0.5) * Self.rowHeight
            let colour = stack.isAltnet ? Palette.paint(0).colour : Palette.threshold
            drawing.text(
                stack.rawValue, start - 10, middle + 4, .init(size: 12, isBold: stack.isAltnet, anchor: .end))
            guard let value = values[stack] else {
                drawing.text("not measured", start + 4, middle + 4, .init(size: 12, colour: Palette.faintInk))
                continue
            }
            let isNever = !value.isFinite
            drawing.line(
                start, middle, place(isNever ? Self.scale.upperBound : value), middle,
                .init(
                    colour: isNever ? Palette.outage : colour, width: stack.isAltnet ? 5 : 3,
                    opacity: isNever ? 0.25 : 1))
            if !isNever { drawing.circle(place(value), middle, radius: 5.5, colour: colour) }
            drawing.text(
                isNever ? "never" : "\(Summary.text(value, .seconds)) s",
                place(isNever ? Self.scale.upperBound : value) + 10,
                middle + 4,
                .init(
                    size: 12, colour: isNever ? Palette.outage : Palette.ink, isBold: stack.isAltnet, hasRim: true))
        }
    }
}

extension Substring {
    fileprivate var trimmingSpaces: Substring {
        let start = drop { $0 == " " }
        return start[..<(start.lastIndex { $0 != " " }.map(start.index(after:)) ?? start.startIndex)]
    }
}
