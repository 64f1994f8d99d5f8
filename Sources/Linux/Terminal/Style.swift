import AgentModel
import Glibc
import Linux

/// Capabilities of an output: colour, Unicode and width.
package struct Style: Sendable {
    package var hasColour = false
    package var isUnicode = true
    /// Width in columns; `Int.max` if the output is not a terminal, so that lines are not cut.
    package var width = Int.max

    package init(hasColour: Bool = false, isUnicode: Bool = true, width: Int = .max) {
        (self.hasColour, self.isUnicode, self.width) = (hasColour, isUnicode, width)
    }

    package enum Paint: String {
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case bold = "1"
        case dim = "2"
    }

    package func paint(_ text: String, _ paint: Paint?) -> String {
        guard hasColour, let paint, !text.isEmpty else { return text }
        return "\u{1b}[\(paint.rawValue)m\(text)\u{1b}[0m"
    }

    /// Whether the output is a terminal.
    package var goesToTerminal: Bool { width != .max }

    package var ellipsis: String { isUnicode ? "…" : "~" }
    package var arrow: String { isUnicode ? "→" : "->" }

    package func heading(_ text: String) -> String { paint(text, .bold) }
}

extension Style {
    /// Returns the capabilities of a standard stream, from its kind and the environment (https://no-color.org).
    package static func terminal(_ descriptor: Int32) -> Style {
        let isTerminal = isatty(descriptor) == 1
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(environment).first { !$0.isEmpty } ?? ""
        let parts = locale.uppercased().split { $0 == "." || $0 == "@" }
        return Style(
            hasColour: isTerminal && environment("NO_COLOR").isEmpty && environment("TERM") != "dumb",
            isUnicode: parts.contains("UTF-8") || parts.contains("UTF8"),
            width: isTerminal ? terminalWidth(descriptor) : .max)
    }

    /// Style of standard error; nil if it cannot redraw a line.
    package static var spinner: Style? {
        guard isatty(STDERR_FILENO) == 1, !["", "dumb"].contains(environment("TERM")) else { return nil }
        return terminal(STDERR_FILENO)
    }

    private static func environment(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }

    private static func terminalWidth(_ descriptor: Int32) -> Int {
        if let columns = Int(environment("COLUMNS")), columns > 0 { return columns }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}

/// Writes text to a standard stream or a terminal.
package struct TextOutput: Sendable {
    package let descriptor: Int32

    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// Writes the whole text, repeating partial writes.
    package func put(_ text: String) throws(SystemError) {
        try writeAll(text.utf8, to: descriptor, attempting: "write")
    }
}
