import AgentModel
import Linux

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The capabilities of a terminal.
package struct Style: Sendable {
    package var hasColour = false
    package var isUnicode = true
    /// In columns; what does not go to a terminal is never cut.
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

    /// Whether a user reads what is written, for what goes elsewhere has no width.
    package var goesToTerminal: Bool { width != .max }

    package var ellipsis: String { isUnicode ? "…" : "~" }
    package var arrow: String { isUnicode ? "→" : "->" }

    package func heading(_ text: String) -> String { paint(text, .bold) }
}

extension Style {
    /// The capabilities of a standard stream, by its kind and by the environment (https://no-color.org).
    package static func terminal(_ descriptor: Int32) -> Style {
        let isTerminal = isatty(descriptor) == 1
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(environment).first { !$0.isEmpty } ?? ""
        let parts = locale.uppercased().split { $0 == "." || $0 == "@" }
        return Style(
            hasColour: isTerminal && environment("NO_COLOR").isEmpty && environment("TERM") != "dumb",
            isUnicode: parts.contains("UTF-8") || parts.contains("UTF8"),
            width: isTerminal ? terminalWidth(descriptor) : .max)
    }

    /// Standard error, where a line on it can be redrawn.
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

/// A standard stream or a terminal that text is written to.
package struct TextOutput: Sendable {
    package let descriptor: Int32

    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// Writes all of it, in as many parts as the system takes.
    package func put(_ text: String) throws(SystemError) {
        try writeAll(text.utf8, to: descriptor, attempting: "write")
    }
}
