import AgentModel
import Synchronization
import Terminal

/// Shows the progress of a command: on a terminal in one line that is redrawn, elsewhere in one line per step.
final class ProgressLine: Sendable {
    private static let interval = Duration.milliseconds(125)

    private let console: Console
    private let start: Instant
    private let state = Mutex(State())

    private struct State {
        var steps: [String] = []
        var turn = 0
        var isEnded = false
    }

    fileprivate init(_ console: Console) {
        self.console = console
        start = console.uptime()
    }

    /// Time since the start, such as `4.2 s`.
    var elapsed: String { DisplayText.seconds(console.uptime() - start) }

    /// Shows a new step, which ends the previous one.
    func show(_ step: String) {
        if console.spinner == nil { return console.progress("  \(step)...") }
        let isNew = state.withLock { state in
            guard state.steps.last != step else { return false }
            state.steps.append(step)
            return true
        }
        if isNew { draw() }
    }

    /// Prints a hint above the line, where it stays.
    func advise(_ text: String) {
        state.withLock { _ in
            erase()
            console.advise(text)
        }
    }

    fileprivate func turn() async {
        guard console.spinner != nil else { return }
        while !Task.isCancelled {
            draw()
            try? await console.clock.sleep(for: Self.interval)
        }
    }

    fileprivate func end() {
        state.withLock { state in
            state.isEnded = true
            erase()
        }
    }

    private func draw() {
        guard let style = console.spinner else { return }
        state.withLock { state in
            guard !state.isEnded, !state.steps.isEmpty else { return }
            state.turn += 1
            let text = Self.text(state.steps, turn: state.turn, elapsed: console.uptime() - start, style)
            console.errors("\r" + Control.eraseToEndOfLine + text)
        }
    }

    /// Erases the line. Hold the lock during the call, so that `draw` does not run at the same time.
    private func erase() {
        if console.spinner != nil { console.errors("\r" + Control.eraseToEndOfLine) }
    }

    /// Returns the line: the current step, and earlier steps if there is room.
    static func text(_ steps: [String], turn: Int, elapsed: Duration, _ style: Style) -> String {
        let wheel = style.isUnicode ? Array("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") : Array("|/-\\")
        let time = "  \(elapsed.milliseconds / 1000) s"
        // Leave the last column free, so that the terminal does not wrap the line.
        let room = style.width == .max ? .max : style.width - 3 - time.columns
        guard room > 0, let last = steps.last else { return "" }
        let between = style.isUnicode ? " › " : " > "
        var past = ""
        for step in steps.dropLast().reversed() {
            guard (step + between + past + last).columns <= room else { break }
            past = step + between + past
        }
        let current = last.fitted(to: room, ellipsis: style.ellipsis)
        return style.paint("\(wheel[turn % wheel.count])", .green) + " " + style.paint(past, .dim) + current
            + style.paint(time, .dim)
    }
}

extension Console {
    /// Shows progress while `body` runs and erases it afterwards.
    func showingProgress<Result: Sendable>(_ body: (ProgressLine) async throws -> Result) async rethrows -> Result {
        let line = ProgressLine(self)
        let turning = Task { await line.turn() }
        defer {
            turning.cancel()
            line.end()
        }
        return try await body(line)
    }
}
