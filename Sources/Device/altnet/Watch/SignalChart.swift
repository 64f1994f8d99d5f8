import AgentModel
import Failover
import Terminal

/// Draws signals over time: the link as a line, candidates as letters, and the network in use on the axis.
struct SignalChart {
    let state: WatchState
    let now: Instant
    let thresholds: PolicySettings.Thresholds
    let width: Int
    let height: Int
    let isUnicode: Bool

    /// Minimum width of a readable chart, in columns.
    static let minimumWidth = 24
    /// Minimum height of a readable chart, in rows.
    static let minimumHeight = 5

    /// Maximum time between two samples that a line connects.
    private static let longestPause = Duration.seconds(15)
    private static let strongest = -30
    private static let weakest = -90
    /// Number of columns for the scale and its bar.
    private static let margin = 5
    private static let footing = 2

    init(
        state: WatchState, now: Instant, thresholds: PolicySettings.Thresholds, width: Int, height: Int, isUnicode: Bool
    ) {
        self.state = state
        self.thresholds = thresholds
        self.width = width
        self.height = height
        self.isUnicode = isUnicode
        // Round to whole columns, so that the line keeps its shape as it moves.
        let columns = max(1, Int64(width - Self.margin) * (isUnicode ? 2 : 1))
        let step = max(1, WatchState.horizon.milliseconds / columns)
        self.now = Instant(milliseconds: (now.milliseconds / step + 1) * step)
    }

    func lines(_ style: Style) -> [String] {
        var canvas = Canvas(width: width, height: height)
        drawScale(&canvas)
        drawThreshold("weak", thresholds.weak, .yellow, &canvas)
        drawThreshold("critical", thresholds.critical, .red, &canvas)
        drawLink(&canvas)
        drawCandidates(&canvas)
        drawStretches(&canvas)
        drawTimes(&canvas)
        return canvas.lines(style)
    }

    private var plotWidth: Int { width - Self.margin }
    private var plotHeight: Int { height - Self.footing }
    private var grain: (x: Int, y: Int) { isUnicode ? (2, 4) : (1, 1) }

    // MARK: Positions

    private static func row(_ signal: Int, of rows: Int) -> Int {
        let signal = min(max(signal, weakest), strongest)
        return (strongest - signal) * (rows - 1) / (strongest - weakest)
    }

    /// Returns the column of a time; negative if the time is before the chart.
    private func column(_ time: Instant, of columns: Int) -> Int {
        let before = min(max((now - time).milliseconds, 0), 2 * WatchState.horizon.milliseconds)
        return columns - 1 - Int(before * Int64(columns) / WatchState.horizon.milliseconds)
    }

    // MARK: Drawing

    private func drawScale(_ canvas: inout Canvas) {
        let step = plotHeight >= 12 ? 10 : plotHeight >= 6 ? 20 : 30
        for row in 0..<plotHeight {
            canvas.put(isUnicode ? "│" : "|", column: Self.margin - 1, row: row, .dim)
        }
        for signal in stride(from: Self.strongest, through: Self.weakest, by: -step) {
            let row = Self.row(signal, of: plotHeight)
            canvas.put("\(signal)", column: 0, row: row, .dim)
            canvas.put(isUnicode ? "┤" : "+", column: Self.margin - 1, row: row, .dim)
        }
    }

    /// - Parameter name: text at the beginning of the line.
    private func drawThreshold(_ name: String, _ signal: Int, _ paint: Style.Paint, _ canvas: inout Canvas) {
        let row = Self.row(signal, of: plotHeight)
        canvas.put("\(signal)", column: 0, row: row, paint)
        canvas.put(isUnicode ? "┤" : "+", column: Self.margin - 1, row: row, .dim)
        for column in Self.margin..<width { canvas.put(isUnicode ? "┈" : ".", column: column, row: row, .dim) }
        canvas.put(name, column: Self.margin, row: row, paint)
    }

    private func drawLink(_ canvas: inout Canvas) {
        let columns = plotWidth * grain.x
        let rows = plotHeight * grain.y
        var points = Set<Point>()
        var signals: [Int: Int] = [:]
        var last: (sample: SignalTrace.Sample, point: Point)?
        for sample in state.link.samples {
            let point = Point(x: column(sample.time, of: columns), y: Self.row(sample.signal, of: rows))
            signals[point.x / grain.x] = sample.signal
            if let last, !sample.isAfterBreak, sample.time - last.sample.time <= Self.longestPause {
                let line = Point.line(from: last.point, to: point)
                for between in line where signals[between.x / grain.x] == nil {
                    signals[between.x / grain.x] = sample.signal
                }
                points.formUnion(line)
            } else {
                points.insert(point)
            }
            last = (sample, point)
        }
        let cells = Dictionary(grouping: points.filter { $0.x >= 0 }) { Point(x: $0.x / grain.x, y: $0.y / grain.y) }
        for (cell, points) in cells {
            canvas.put(
                isUnicode ? Self.braille(points) : "*", column: Self.margin + cell.x, row: cell.y,
                signals[cell.x].map(paint))
        }
    }

    private func drawCandidates(_ canvas: inout Canvas) {
        for (ssid, trace) in state.candidates.sorted(by: { state.letters[$0.key] ?? "Z" > state.letters[$1.key] ?? "Z" }
        ) {
            guard let letter = state.letters[ssid] else { continue }
            for sample in trace.samples {
                let column = column(sample.time, of: plotWidth)
                guard column >= 0 else { continue }
                canvas.put(
                    letter, column: Self.margin + column, row: Self.row(sample.signal, of: plotHeight), .blue)
            }
        }
    }

    /// Draws the axis: solid while online, with a letter where the device joins a network.
    private func drawStretches(_ canvas: inout Canvas) {
        let row = plotHeight
        canvas.put(isUnicode ? "└" : "+", column: Self.margin - 1, row: row, .dim)
        for (index, stretch) in state.stretches.enumerated() {
            let next = state.stretches.dropFirst(index + 1).first?.start ?? now
            let start = column(stretch.start, of: plotWidth)
            let end = column(next, of: plotWidth)
            let (character, paint) = mark(stretch.link)
            for column in max(0, start)...max(0, start, end) {
                canvas.put(character, column: Self.margin + column, row: row, paint)
            }
            if case .on(let ssid) = stretch.link, let letter = state.letters[ssid] {
                canvas.put(letter, column: Self.margin + max(0, start), row: row, .green)
            }
        }
    }

    private func mark(_ link: WatchState.Link) -> (Character, Style.Paint) {
        switch link {
        case .on, .unnamed: (isUnicode ? "─" : "-", .green)
        case .down: (isUnicode ? "×" : "x", .red)
        case .unknown: ("?", .yellow)
        }
    }

    private func drawTimes(_ canvas: inout Canvas) {
        let minutes = WatchState.horizon.milliseconds / 60_000
        for minute in 1..<minutes where plotWidth >= 50 || minute == 3 {
            let text = "\(-minute)"
            let column = column(now.advanced(by: .seconds(-60 * minute)), of: plotWidth)
            canvas.put(text, column: Self.margin + column, row: height - 1, .dim)
        }
        canvas.put("\(-minutes) min", column: Self.margin, row: height - 1, .dim)
        canvas.put("now", column: width - 3, row: height - 1, .dim)
    }

    private func paint(_ signal: Int) -> Style.Paint {
        signal < thresholds.critical ? .red : signal < thresholds.weak ? .yellow : .green
    }

    /// Returns the character with these points, of two columns and four rows (Unicode, block Braille Patterns).
    private static func braille(_ points: [Point]) -> Character {
        let bits: [[UInt32]] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]]
        let code = points.reduce(0x2800) { $0 | bits[$1.y % 4][$1.x % 2] }
        return Unicode.Scalar(code).map(Character.init) ?? " "
    }
}

private struct Point: Hashable {
    let x: Int
    let y: Int

    static func line(from start: Point, to end: Point) -> [Point] {
        let steps = max(abs(end.x - start.x), abs(end.y - start.y))
        return (0...steps).map { step in
            let share = { (from: Int, to: Int) in
                from + ((to - from) * step * 2 + (to >= from ? steps : -steps)) / (2 * max(1, steps))
            }
            return Point(x: share(start.x, end.x), y: share(start.y, end.y))
        }
    }
}

/// Signals of one network, oldest first, as far back as the chart shows.
struct SignalTrace: Sendable, Equatable {
    struct Sample: Sendable, Equatable {
        let time: Instant
        /// Signal in dBm.
        let signal: Int
        /// Whether the network was lost or not observed since the previous sample.
        let isAfterBreak: Bool
    }

    /// Maximum number of samples, as the device may send any number.
    static let maximumSamples = 4096

    private(set) var samples: [Sample] = []
    private var isBroken = true

    mutating func add(_ signal: Int, at time: Instant) {
        if let last = samples.last, time < last.time { return }
        if samples.count == Self.maximumSamples { samples.removeFirst(Self.maximumSamples / 4) }
        samples.append(Sample(time: time, signal: signal, isAfterBreak: isBroken))
        isBroken = false
    }

    /// Starts a new line with the next sample.
    mutating func interrupt() { isBroken = true }

    mutating func forget(before time: Instant) {
        samples.removeSubrange(..<(samples.firstIndex { $0.time >= time } ?? samples.endIndex))
    }
}

struct Canvas {
    private struct Cell {
        var character: Character = " "
        var paint: Style.Paint?
    }

    let width: Int
    let height: Int
    private var cells: [Cell]

    init(width: Int, height: Int) {
        self.width = max(0, width)
        self.height = max(0, height)
        cells = Array(repeating: Cell(), count: self.width * self.height)
    }

    /// Puts text with one column per character. Ignores characters outside the canvas.
    mutating func put(_ text: String, column: Int, row: Int, _ paint: Style.Paint?) {
        for (offset, character) in text.enumerated() {
            put(character, column: column + offset, row: row, paint)
        }
    }

    mutating func put(_ character: Character, column: Int, row: Int, _ paint: Style.Paint?) {
        guard (0..<width).contains(column), (0..<height).contains(row) else { return }
        cells[row * width + column] = Cell(character: character, paint: paint)
    }

    func lines(_ style: Style) -> [String] {
        (0..<height).map { row in
            var cells = cells[row * width..<(row + 1) * width]
            while cells.last?.character == " " { cells.removeLast() }
            var line = ""
            var run = ""
            var paint: Style.Paint?
            for cell in cells {
                if cell.paint != paint {
                    line += style.paint(run, paint)
                    run = ""
                    paint = cell.paint
                }
                run.append(cell.character)
            }
            return line + style.paint(run, paint)
        }
    }
}
