import FoundationEssentials
import Glibc
import Synchronization

/// Prints what happens in the demo: one line each, with the time since it began; in colour on a terminal.
final class Stage: Sendable {
    private let start = ContinuousClock.now
    private let isColoured = isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    private let printed = Mutex<[[Span]]>([])

    /// A piece of a line in one style.
    struct Span: Sendable {
        let text: String
        let style: Style
    }

    enum Style: Int, Sendable {
        case plain = 0
        case bold = 1
        case faint = 2
        case red = 31
        case green = 32
        case yellow = 33
        case blue = 34
        case magenta = 35
        case cyan = 36
    }

    /// Every line so far, in colour.
    var lines: [String] { printed.withLock { $0 }.map { $0.map(Self.paint).joined() } }

    func title(_ text: String) { put([], [Span(text: "  " + text, style: .bold)], []) }

    func note(_ text: String) { put([Span(text: "  " + text, style: .faint)]) }

    /// Something that the demo does to the world.
    func scene(_ text: String) { put([], [stamp, Span(text: "▶ " + text, style: .cyan)]) }

    /// Something that the agent decided.
    func agent(_ text: String, _ style: Style = .blue) { put(from: "agent", [Span(text: text, style: style)]) }

    /// Something that the app sent or got.
    func app(_ text: String) { put(from: "app", [Span(text: text, style: .magenta)]) }

    /// Something that was measured from outside.
    func proof(_ text: String) { put([stamp, Span(text: "✔ " + text, style: .green)]) }

    func failure(_ text: String) { put([stamp, Span(text: "✘ " + text, style: .red)]) }

    func signal(of name: String, _ dBm: Int) {
        let style: Style = dBm >= -65 ? .green : dBm >= -75 ? .yellow : .red
        put(
            from: "radio",
            [
                Span(text: name + " ", style: .plain), Span(text: Self.bar(dBm), style: style),
                Span(text: " \(dBm) dBm", style: .plain),
            ])
    }

    func table(_ rows: [(String, String)]) {
        let width = rows.map(\.0.count).max() ?? 0
        for (name, value) in rows {
            let padding = String(repeating: " ", count: width - name.count + 2)
            put([Span(text: "  " + name + padding, style: .plain), Span(text: value, style: .bold)])
        }
    }

    /// Ten blocks from -95 to -35 dBm.
    private static func bar(_ dBm: Int) -> String {
        let full = min(max((dBm + 95) / 6, 0), 10)
        return String(repeating: "█", count: full) + String(repeating: "░", count: 10 - full)
    }

    private var stamp: Span {
        let tenths = Int((ContinuousClock.now - start) / .milliseconds(100))
        let text = "\(tenths / 10).\(tenths % 10) s  "
        return Span(text: String(repeating: " ", count: max(0, 10 - text.count)) + text, style: .faint)
    }

    private func put(from source: String, _ spans: [Span]) {
        let name = source + String(repeating: " ", count: max(0, 7 - source.count))
        put([stamp, Span(text: name, style: .faint)] + spans)
    }

    private func put(_ lines: [Span]...) {
        printed.withLock { printed in
            for line in lines {
                printed.append(line)
                print(line.map { isColoured ? Self.paint($0) : $0.text }.joined())
            }
            fflush(nil)
        }
    }

    private static func paint(_ span: Span) -> String {
        guard span.style != .plain else { return span.text }
        return "\u{1b}[\(span.style.rawValue)m\(span.text)\u{1b}[0m"
    }
}
